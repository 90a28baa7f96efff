"""How the command line is used, in Chinese: typer and click speak English alone, and translate no more than a part.

Their messages are recognised by their words, those of typer with a click of its own and of click itself; one that is
not known is shown as it is.
"""

from __future__ import annotations

import sys
from typing import Any, cast

import typer

from schemas.fault_words import compiled, worded
from workers.speech import tell

# typer brings a click of its own, or uses click's: either way these are the bases of what it exports.
UsageFault = cast("type[Exception]", typer.BadParameter.__mro__[2])

_TITLES = {
    "ARGUMENTS_PANEL_TITLE": "参数",
    "OPTIONS_PANEL_TITLE": "选项",
    "COMMANDS_PANEL_TITLE": "命令",
    "DEFAULT_STRING": "[默认：{}]",
    "ENVVAR_STRING": "[环境变量：{}]",
    "REQUIRED_LONG_STRING": "[必填]",
    "DEPRECATED_STRING": "（已弃用）",
}
_PIECES = {
    "Usage: ": "用法：",
    "[OPTIONS]": "[选项]",
    "COMMAND [ARGS]...": "命令 [参数]...",
}
_FAULTS = compiled(
    (
        ("Missing option {}. {}", "缺少选项 {}。{}"),
        ("Missing option {}.", "缺少选项 {}。"),
        ("Missing argument {}. {}", "缺少参数 {}。{}"),
        ("Missing argument {}.", "缺少参数 {}。"),
        ("Missing parameter {}.", "缺少参数 {}。"),
        ("Missing command.", "缺少命令。"),
        ("No such command {}. Did you mean {}?", "没有命令 {}；是否要写 {}？"),
        ("No such command {}.", "没有命令 {}。"),
        ("No such option: {} (Possible options: {})", "没有选项 {}；相近的有：{}。"),
        ("No such option: {} Did you mean {}?", "没有选项 {}；是否要写 {}？"),
        ("No such option: {}", "没有选项 {}。"),
        ("Option {} requires an argument.", "选项 {} 需要一个值。"),
        ("Option {} requires {} arguments.", "选项 {} 需要 {} 个值。"),
        ("Option {} does not take a value.", "选项 {} 不带值。"),
        ("Argument {} takes {} values.", "参数 {} 需要 {} 个值。"),
        ("Got unexpected extra argument(s) ({})", "多余的参数：{}"),
        ("Got unexpected extra argument ({})", "多余的参数：{}"),
        ("Got unexpected extra arguments ({})", "多余的参数：{}"),
    )
)
_INVALID = compiled((("Invalid value for {}: {}", "{}"), ("Invalid value: {}", "{}")))
_VALUES = compiled(
    (
        ("Value error, {} is not one of {}.", "没有 {}；可用：{}"),
        ("{} is not one of {}.", "没有 {}；可用：{}"),
        ("Input should be a valid integer{}", "必须是整数"),
        ("Input should be a valid number{}", "必须是数"),
        ("Input should be a finite number{}", "必须是有限的数"),
        ("Input should be a valid UUID{}", "必须是 UUID"),
        ("Input should be greater than or equal to {}", "不能小于 {}"),
        ("Input should be less than or equal to {}", "不能大于 {}"),
        ("{} is not a valid integer.", "{} 不是整数"),
        ("{} is not a valid float.", "{} 不是数"),
        ("{} is not a valid UUID.", "{} 不是 UUID"),
        ("{} is not in the range {}.", "{} 不在范围 {} 内"),
        ("{} {} does not exist.", "{1} 不存在"),
        ("{} {} is a directory.", "{1} 是文件夹"),
        ("{} {} is a file.", "{1} 是文件"),
        ("{} {} is not readable.", "{1} 无法读取"),
    )
)


def run_in_chinese(app: typer.Typer, words: list[str]) -> int:
    """Runs one command; its exit code. Help and complaints about how it was called are Chinese."""
    command = typer.main.get_command(app)
    _translate(command)
    try:
        ended = command(args=words, prog_name="afterturn", standalone_mode=False)
    except UsageFault as exc:
        complain(exc)
        return cast("Any", exc).exit_code
    except typer.Abort:
        tell("已中止。", "aborted.")
        return 1
    return ended if isinstance(ended, int) else 0


def complain(fault: Any) -> None:
    """How to call it, and what was wrong with the call."""
    if type(fault).__name__ == "NoArgsIsHelpError":
        fault.show()  # its message is the help
        return
    ctx = getattr(fault, "ctx", None)
    if ctx is not None:
        sys.stderr.write(f"{_in_pieces(ctx.get_usage())}\n")
        tell(f"运行 '{ctx.command_path} --help' 查看说明。", f"Try '{ctx.command_path} --help' for help.")
    tell(f"错误（usage）：{in_chinese(fault.format_message())}", f"error (usage): {fault.format_message()}")


def in_chinese(message: str) -> str:
    """A complaint of typer or click in Chinese; as it is when it is not known."""
    for pattern, _ in _INVALID:
        if found := pattern.fullmatch(message):
            *name, value = found.groups()
            told = worded(value, _VALUES) or value
            return f"{name[0]} 的值无效：{told}" if name else f"值无效：{told}"
    return worded(message, _FAULTS) or message


def _translate(command: Any) -> None:
    """Lets a command and all below it tell their use in Chinese. The titles wait for the help: they cost rich."""
    tell_use, tell_help, help_option = command.get_usage, command.format_help, command.get_help_option

    def get_usage(ctx: Any) -> str:
        return _in_pieces(tell_use(ctx))

    def format_help(ctx: Any, formatter: Any) -> None:
        _translate_titles()
        tell_help(ctx, formatter)

    def get_help_option(ctx: Any) -> Any:
        option = help_option(ctx)
        if option is not None:
            option.help = "显示本说明并退出。"
        return option

    command.get_usage, command.format_help, command.get_help_option = get_usage, format_help, get_help_option
    for child in getattr(command, "commands", {}).values():
        _translate(child)


def _translate_titles() -> None:
    from typer import rich_utils  # noqa: PLC0415 - rich: what no command but its help needs

    for name, chinese in _TITLES.items():
        setattr(rich_utils, name, chinese)


def _in_pieces(usage: str) -> str:
    for english, chinese in _PIECES.items():
        usage = usage.replace(english, chinese, 1)
    return usage
