"""Facts in a tool's structured result: order status, stock, balance, parcel, purchase date, exchange number, approval.

Only keys that the registry marks `tool`, only from JSON, only from a call that succeeded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from llm.rules.finding import Finding
from memory.registry import REGISTRY, canonical

_MAX_PAYLOAD = 20_000
_MAX_FACTS = 20
_NAMED: tuple[tuple[str, str], ...] = (
    ("order_status", "order_status orderstatus 订单状态"),
    ("stock", "stock in_stock inventory stock_level quantity_available 库存"),
    ("balance", "balance account_balance 余额"),
    (
        "parcel",
        "parcel parcel_location tracking_status shipment_status parcel_status current_location 包裹位置 物流状态",
    ),
    ("purchase_date", "purchase_date purchased_at order_date ordered_at bought_at 购买日期 下单日期 购买时间"),
    ("exchange_number", "exchange_number exchange_id exchange_no rma rma_number return_number 换货单号 退换单号"),
    ("past_approval", "past_approval approval approved_by manual_approval 人工批准"),
)
_FIELDS = {field: key for key, names in _NAMED for field in names.split()}
_STATUS = frozenset({"status", "state", "状态"})
_IDS: dict[str, str] = {
    **dict.fromkeys(("order", "order_id", "order_no", "order_number", "orderid", "订单", "订单号"), "order"),
    **dict.fromkeys(("sku", "product", "product_id", "item", "model", "商品", "型号"), "product"),
    **dict.fromkeys(("tracking_number", "parcel_id", "shipment_id", "tracking_no", "快递单号", "运单号"), "parcel"),
    **dict.fromkeys(("account", "account_id", "账户", "账号"), "account"),
}
_KIND = {"stock": "product", "balance": "account", "parcel": "parcel"}


def findings(payload: str, name: str | None) -> Iterator[Finding]:
    """Facts of a tool's JSON result, the order, product, parcel or account as their object."""
    if len(payload) > _MAX_PAYLOAD or payload.lstrip()[:1] not in ("{", "["):
        return
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return
    tool = (name or "").lower()
    found = list(_walk(value, {}, payload, tool, 0))
    yield from found[:_MAX_FACTS]


def _walk(value: Any, ids: dict[str, str], payload: str, tool: str, depth: int) -> Iterator[Finding]:
    if depth > 4:
        return
    if isinstance(value, list):
        for item in cast("list[Any]", value)[:_MAX_FACTS]:
            yield from _walk(item, ids, payload, tool, depth + 1)
    if not isinstance(value, dict):
        return
    fields = {str(key).lower(): item for key, item in cast("dict[Any, Any]", value).items()}
    ids = ids | {
        _IDS[key]: str(item)
        for key, item in fields.items()
        if key in _IDS and isinstance(item, str | int) and len(str(item)) <= 40
    }
    for field, item in fields.items():
        key = _FIELDS.get(field) or (_status_key(ids, tool) if field in _STATUS else None)
        if key is not None and isinstance(item, str | int | float) and not isinstance(item, bool):
            yield from _fact(key, str(item), field, ids, payload)
        elif isinstance(item, dict | list):
            yield from _walk(item, ids, payload, tool, depth + 1)


def _status_key(ids: dict[str, str], tool: str) -> str | None:
    if "parcel" in ids or re.search(r"parcel|ship|track|物流|快递", tool):
        return "parcel"
    return "order_status" if "order" in ids or re.search(r"order|订单", tool) else None


def _fact(key: str, value: str, field: str, ids: dict[str, str], payload: str) -> Iterator[Finding]:
    if not REGISTRY[key].tool or canonical(key, value, "und") is None:
        return
    place = re.search(
        rf'"{re.escape(field)}"\s*:\s*"?{re.escape(json.dumps(value, ensure_ascii=False)[1:-1])}"?',
        payload,
        re.IGNORECASE,
    )
    if place is None:
        return
    kind = _KIND.get(key, "order")
    about = (
        ids.get(kind)
        or (ids.get("order") if kind == "parcel" else None)
        or (ids.get("product") if kind == "order" else None)
    )
    # The subject is the thing itself: what a tool reports is never a fact about the speaker.
    yield Finding(
        key=key,
        value=value,
        op="+",
        start=place.start(),
        end=place.end(),
        subject=kind,
        object=about,
        rule="tool." + key,
    )
