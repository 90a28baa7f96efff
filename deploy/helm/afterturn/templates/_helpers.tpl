{{- define "afterturn.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "afterturn.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "afterturn.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The settings of a pod. What the sweep supplies with work is bounded by slots: those of all llm pods together. */}}
{{- define "afterturn.env" -}}
- {name: AFTERTURN_HOME, value: /data}
- {name: AFTERTURN_SECRETS_DIR, value: /run/secrets/afterturn}
{{- range $name, $value := mergeOverwrite (dict) .root.Values.settings (default dict .settings) }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{- define "afterturn.container" -}}
image: "{{ .root.Values.image.repository }}:{{ default .root.Chart.AppVersion .root.Values.image.tag }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: data, mountPath: /data}
  - {name: tmp, mountPath: /tmp}
  - {name: secrets, mountPath: /run/secrets/afterturn, readOnly: true}
{{- end }}

{{- define "afterturn.pod" -}}
serviceAccountName: {{ include "afterturn.name" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - {name: data, emptyDir: {sizeLimit: 128Mi}}
  - {name: tmp, emptyDir: {sizeLimit: 128Mi}}
  - {name: secrets, secret: {secretName: {{ .root.Values.existingSecret | quote }}, defaultMode: 0440}}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "afterturn.template-metadata" -}}
metadata:
  labels:
    {{- include "afterturn.selector" . | nindent 4 }}
    {{- with .root.Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    afterturn/settings: {{ toJson (list .root.Values.settings (default dict .settings)) | sha256sum }}
    {{- with .root.Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end }}

{{- define "afterturn.spread" -}}
{{- if .root.Values.topologySpread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "afterturn.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{/* Alive is asked of the process's own probe; a worker whose broker is away is alive. */}}
{{- define "afterturn.probes" -}}
startupProbe: {httpGet: {path: /readyz, port: {{ .port }}}, periodSeconds: 3, failureThreshold: 40}
livenessProbe: {httpGet: {path: /healthz, port: {{ .port }}}, periodSeconds: 15, timeoutSeconds: 5, failureThreshold: 4}
readinessProbe: {httpGet: {path: /readyz, port: {{ .port }}}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3}
{{- end }}
