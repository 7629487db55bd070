"""The command line: arguments in, exit codes out.

0 done; 1 input or run failed; 2 wrong usage or a wrong parameter; 3 an upload refused; 4 an upload not verified. A
failure is one sentence on standard error; the traceback comes with `--debug`. Heavy modules are imported by the command
that needs them, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

import click

from shellbench_lib.errors import ParameterError, ReportError, ShellbenchError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from shellbench_lib.params import MissingReward
    from shellbench_lib.runner import NotebookKind

UPLOAD_HINT = "upload needs the optional packages; install them with: pip install 'shellbench-report[upload]'"
_UPLOAD_PACKAGES = ("boto3", "detect_secrets")


class _Commands(click.Group):
    """A command group whose commands answer our errors with a sentence and the right exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ShellbenchError as error:
            _complain(ctx, str(error))
            ctx.exit(error.exit_code)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception as error:  # noqa: BLE001 - no traceback without --debug, whatever went wrong
            _complain(ctx, f"unexpected {type(error).__name__}: {error}; run again with --debug to see where")
            ctx.exit(1)


def _complain(ctx: click.Context, sentence: str) -> None:
    if ctx.params.get("debug"):
        traceback.print_exc()
    click.echo(f"shellbench: {' '.join(sentence.split())}", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of a failure and what a kernel prints.")
@click.version_option(package_name="shellbench-report", prog_name="shellbench")
def main(*, debug: bool) -> None:
    """Reproducible reports on agent benchmarks."""


@main.command()
@click.argument("params", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-p", "given", nargs=2, multiple=True, metavar="NAME VALUE", help="Set one parameter; may be repeated.")
@click.option("--output-root", metavar="DIR", help="Write DIR/<matrix_name> instead of outputs/<matrix_name>.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Reports built side by side.")
@click.option("--no-html", is_flag=True, help="Leave out the HTML page.")
@click.pass_context
def report(
    ctx: click.Context,
    params: tuple[Path, ...],
    given: tuple[tuple[str, str], ...],
    output_root: str | None,
    *,
    workers: int,
    no_html: bool,
) -> None:
    """Build one report for each PARAMS file."""
    from shellbench_lib.runner import MATRIX_REPORT  # noqa: PLC0415

    debug = ctx.find_root().params["debug"]
    root = None if output_root is None else _path_argument(output_root, "--output-root")
    if len(params) > 1:
        _refuse_shared_folders(params, given, root)
        options = [word for name, value in given for word in ("-p", name, value)]
        options += ["--output-root", output_root] if output_root is not None else []
        options += ["--no-html"] if no_html else []
        ctx.exit(_run_each(params, options, workers=workers, debug=debug))
    parameters = _read(params[0], MATRIX_REPORT.model, given)
    _run_one(MATRIX_REPORT, parameters, output_root=root, html=not no_html, debug=debug)


@main.command()
@click.argument("matrix_path")
@click.argument("summaries_dir")
def export(matrix_path: str, summaries_dir: str) -> None:
    """Write the run and task tables of MATRIX_PATH (a folder, or `sample`) into SUMMARIES_DIR."""
    from shellbench_lib.export import export_matrix  # noqa: PLC0415
    from shellbench_lib.params import SAMPLE_MATRIX  # noqa: PLC0415

    matrix = matrix_path if matrix_path == SAMPLE_MATRIX else str(_path_argument(matrix_path, "MATRIX_PATH"))
    found = export_matrix(matrix, _path_argument(summaries_dir, "SUMMARIES_DIR"))
    click.echo(
        f"{found.description}: {found.eligible_run_count} of {found.run_count} runs eligible, "
        f"{found.trials_found} trials, {found.trials_scored} scored, {found.trials_solved} solved"
    )


@main.command()
@click.argument("summaries_dir")
@click.argument("analysis_dir")
@click.option("--no-plots", is_flag=True, help="Leave out the figures.")
@click.option(
    "--missing-reward",
    type=click.Choice(["zero", "exclude"]),
    default="zero",
    show_default=True,
    help="Whether a trial without a reward scores 0 or is left out of cell means.",
)
def analyze(summaries_dir: str, analysis_dir: str, *, no_plots: bool, missing_reward: MissingReward) -> None:
    """Write the statistics and figures of SUMMARIES_DIR into ANALYSIS_DIR."""
    from shellbench_lib.analysis import AnalysisSettings  # noqa: PLC0415
    from shellbench_lib.analysis import analyze as write_analysis  # noqa: PLC0415
    from shellbench_lib.export import own_summaries  # noqa: PLC0415

    settings = AnalysisSettings(generate_plots=not no_plots, missing_reward=missing_reward)
    with own_summaries(_path_argument(summaries_dir, "SUMMARIES_DIR")) as folder:
        write_analysis(folder, _path_argument(analysis_dir, "ANALYSIS_DIR"), settings)
    click.echo(f"{analysis_dir}: written")


@main.command()
@click.argument("output_dir")
def verify(output_dir: str) -> None:
    """Hash every file of OUTPUT_DIR again and compare it with report_manifest.json."""
    from shellbench_lib.manifest import MANIFEST_FILE  # noqa: PLC0415
    from shellbench_lib.manifest import verify as differences_of  # noqa: PLC0415

    folder = _path_argument(output_dir, "OUTPUT_DIR")
    differences = differences_of(folder)
    for line in differences.lines():
        click.echo(line)
    if differences:
        raise ReportError(f"{output_dir}: {len(differences.lines())} differences from {MANIFEST_FILE}")
    click.echo(f"{output_dir}: {differences.file_count} files as {MANIFEST_FILE} lists them")


@main.command()
@click.argument("params", type=click.Path(path_type=Path))
@click.pass_context
def upload(ctx: click.Context, params: Path) -> None:
    """Publish the traces that PARAMS names; a dry run unless it says otherwise."""
    if any(find_spec(name) is None for name in _UPLOAD_PACKAGES):
        raise ReportError(UPLOAD_HINT)
    kind = _upload_kind()
    _run_one(kind, _read(params, kind.model, ()), output_root=None, html=True, debug=ctx.find_root().params["debug"])


@main.command()
@click.argument("directory")
@click.option("--full", is_flag=True, help="93 runs of 31 cells over 116 tasks instead of the small matrix.")
def sample(directory: str, *, full: bool) -> None:
    """Write a synthetic matrix into DIRECTORY, the same bytes every time."""
    from shellbench_lib.sample import write_sample  # noqa: PLC0415

    write_sample(_path_argument(directory, "DIRECTORY"), full=full)
    click.echo(f"{directory}: written")


def _upload_kind() -> NotebookKind:
    from shellbench_lib.runner import NotebookKind  # noqa: PLC0415
    from shellbench_lib.upload.parameters import UploadParameters  # noqa: PLC0415
    from shellbench_lib.upload.settings import private_texts  # noqa: PLC0415

    return NotebookKind(
        path="notebooks/trace_upload.ipynb",
        model=UploadParameters,
        promised=lambda _folder: (),
        places=("run_dir",),
        keeps_credentials=True,
        private_texts=private_texts,
    )


def parameter_value(model: type[BaseModel], name: str, text: str) -> Any:
    """Return what `-p NAME VALUE` sets: the text itself where a text is wanted, else what it means in a YAML file."""
    from shellbench_lib.params import parse_yaml_value  # noqa: PLC0415

    field = model.model_fields.get(name)
    if field is not None and _wants_text(field.annotation):
        return text
    return parse_yaml_value(text)


def _wants_text(annotation: Any) -> bool:
    if get_origin(annotation) is not None:
        return all(isinstance(value, str) for value in get_args(annotation))  # a choice of words
    return annotation is str


def _read(path: Path, model: type[BaseModel], given: Sequence[tuple[str, str]]) -> Any:
    from shellbench_lib.params import check_values, read_parameters_file  # noqa: PLC0415

    values = read_parameters_file(path)
    values |= {name: parameter_value(model, name, text) for name, text in given}
    return check_values(model, values, source=path.name)


def _path_argument(text: str, field: str) -> Path:
    """Return an argument's path: relative ones are taken from the working directory, as in any command."""
    from shellbench_lib.paths import local_path  # noqa: PLC0415

    local_path(text, field=field)  # refuses what is no local path
    return Path(text).expanduser().resolve()


def _run_one(kind: NotebookKind, parameters: Any, *, output_root: Path | None, html: bool, debug: bool) -> None:
    from shellbench_lib.runner import RunOptions, run_notebook  # noqa: PLC0415

    with _progress(parameters.matrix_name) as (on_cell, on_text):
        options = RunOptions(output_root, html=html, verbose=debug, on_cell=on_cell, on_text=on_text)
        folder = run_notebook(kind, parameters, options)
    result = folder / f"{kind.stem}.{'html' if html else 'ipynb'}"
    click.echo(f"{parameters.matrix_name}: {_shown(result)}")


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


@contextmanager
def _progress(name: str) -> Iterator[tuple[Callable[[int, int], None], Callable[[str], None]]]:
    """Give what hears of finished cells, and what hears of the words that a cell writes while it runs."""
    if not sys.stderr.isatty():
        yield (
            lambda done, total: click.echo(f"{name}: cell {done} of {total}"),
            lambda text: click.echo("\n".join(f"{name}: {line}" for line in text.splitlines() if line.strip())),
        )
        return
    from tqdm import tqdm  # noqa: PLC0415

    with tqdm(desc=name, unit="cell", leave=False) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show, lambda text: bar.write(text.rstrip("\n"), file=sys.stderr)


def _refuse_shared_folders(files: Sequence[Path], given: Sequence[tuple[str, str]], root: Path | None) -> None:
    """Raise ParameterError where two files would write one folder; a file that cannot be read says so itself later."""
    from shellbench_lib.runner import MATRIX_REPORT, RunOptions, output_folder  # noqa: PLC0415

    writers: dict[Path, Path] = {}
    for file in files:
        try:
            folder = output_folder(_read(file, MATRIX_REPORT.model, given), RunOptions(root))
        except ShellbenchError:
            continue
        if folder in writers:
            raise ParameterError(f"{writers[folder]} and {file} would write one folder, {_shown(folder)}")
        writers[folder] = file


def _run_each(files: Sequence[Path], options: Sequence[str], *, workers: int, debug: bool) -> int:
    """Build each report in a process of its own and return the worst exit code; one that fails stops no other."""
    from tqdm import tqdm  # noqa: PLC0415

    library = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(part for part in (library, os.environ.get("PYTHONPATH", "")) if part)
    start = [sys.executable, "-P", "-m", "shellbench_lib", *(["--debug"] if debug else []), "report"]

    def build(file: Path) -> int:
        done = subprocess.run(  # noqa: S603 - this very program
            [*start, str(file), *options],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stderr if done.returncode else done.stdout.splitlines()[-1] + "\n"
        with tqdm.external_write_mode():  # the bar makes room
            click.echo(lines or f"shellbench: {file}: ended by a signal\n", nl=False, err=done.returncode != 0)
        return done.returncode if done.returncode >= 0 else 1

    hidden = not sys.stderr.isatty()
    with ThreadPoolExecutor(workers) as pool:
        return max(tqdm(pool.map(build, files), total=len(files), unit="report", leave=False, disable=hidden))
