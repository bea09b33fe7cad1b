# SPDX-License-Identifier: Apache-2.0
"""Names that are refused before the plugin makes paths of them, without TensorBoard."""
import pytest

from tbprof import activation, charts_page, guard


@pytest.mark.parametrize("query", [
    "run=..%2F..%2Fetc", "run=a%2F..%2F..%2Fb", "run=%2Fetc%2Fx", "run=gs%3A%2F%2Fb%2Fx", "run=a%00b",
    "run=" + "x" * 10240, "host=..%2F..%2Fetc%2Fpasswd", "host=%00", "host=" + "h" * 10240,
    "hosts=a,..%2Fb", "tag=..%2Fx", "tag=a%0Ab", "session_path=%00", "run=ok&run=..", "x=" + "y" * 70000,
    "search_prefix=a%00b", "tag=trace_viewer%40&event_name=%00", "x%00=1",
    "tag=graph_viewer&module_name=..%2F..%2Fx", "module_name=%2Fetc%2Fx", "program_id=..%2F1", "device_type=..%2Fx",
])
def test_refuses(query):
    assert guard.fault(query)


@pytest.mark.parametrize("query", [
    "", "run=2026_11_28_00_22_17&tag=trace_viewer%40&host=worker0", "run=train%2F2026_01_01_00_00_00",
    "run=exp..1/a...b", "run=a%5Cb", "host=10.0.0.2_8466", "hosts=a,b", "run=.%2Fx", "host=ALL_HOSTS&tqx=out:csv;",
    "session_path=%2Fdata%2Fprofiles%2Frun", "search_prefix=..%2Fnot%2Fa%2Fname", "module_name=jit_step(17)",
])
def test_lets_pass(query):
    assert guard.fault(query) is None


def test_a_refused_request_never_reaches_the_plugin():
    seen, started = [], []
    app = guard.keep(lambda environ, start_response: seen.append(environ) or [b"x"])
    assert app({"QUERY_STRING": "run=.."}, lambda *a: started.append(a)) == [b"'run' leads out of the log directory"]
    assert started[0][0] == "400 Bad Request" and ("X-Content-Type-Options", "nosniff") in started[0][1]
    assert not seen
    assert app({"QUERY_STRING": "run=a"}, None) == [b"x"] and len(seen) == 1


def at_the_call(failure):
    def app(environ, start_response):
        raise failure
    return app


def when_read(failure):
    """As xprof 2.21 and later fail, once with the headers already handed on."""
    def app(environ, start_response):
        start_response("200 OK", [])
        raise failure
        yield b""
    return app


@pytest.mark.parametrize("kind", (at_the_call, when_read))
@pytest.mark.parametrize("failure, status, text", [
    (RuntimeError("No matching run directory for run x/y"), 404, "No matching run directory for run x/y"),
    (ValueError("x"), 404, "x"), (OSError("y"), 404, "y"),
    (KeyError("x/y"), 404, "nothing is known under this name: 'x/y'"),
    (AssertionError(), 500, "the plugin fails at this request: AssertionError()"),
    (AttributeError("z"), 500, "the plugin fails at this request: AttributeError('z')")])
def test_a_failure_of_the_plugin_is_a_text(kind, failure, status, text):
    started = []
    body = guard.keep(kind(failure))({"QUERY_STRING": "run=x%2Fy", "PATH_INFO": "/data"}, lambda *a: started.append(a))
    assert body == [text.encode()] and started[-1][0].startswith(f"{status} ")
    assert started[-1][2][1] is failure  # else headers may not be replaced


@pytest.mark.parametrize("app, query, status, length", [(at_the_call(ValueError("no")), "run=a", "404", "2"),
                                                        (at_the_call(None), "run=..", "400", "36")])
def test_a_refusal_of_head_has_headers_alone(app, query, status, length):
    started = []
    body = guard.keep(app)({"QUERY_STRING": query, "REQUEST_METHOD": "HEAD"}, lambda *a: started.append(a))
    assert body == [] and started[0][0].startswith(status) and ("Content-Length", length) in started[0][1]


def test_an_answer_is_closed_and_handed_on_as_it_is():
    class Answer(list):
        is_closed = False

        def close(self):
            self.is_closed = True

    answer = Answer([b"a", b"b"])
    assert guard.keep(lambda *_: answer)({"QUERY_STRING": ""}, None) == [b"a", b"b"] and answer.is_closed


@pytest.mark.parametrize("text, numbers", [("2.24.2", (2, 24, 2)), ("2.19.0", (2, 19, 0)), ("2.25.0a3", (2, 25, 0, -1)),
                                           ("2.24.2rc1", (2, 24, 2, -1)), ("nightly", ())])
def test_versions(text, numbers):
    assert activation._numbers(text) == numbers


def test_only_known_versions():
    first, last = activation.KNOWN
    for text in ("2.11.1", "2.24.3", "2.25.0", "3.0", "nightly"):
        assert not first <= activation._numbers(text) <= last, text
    for text in ("2.11.2", "2.19.0", "2.22.1", "2.24.2"):
        assert first <= activation._numbers(text) <= last, text


class Connection:
    def close(self):
        pass


def refuse(*_, **__):
    raise OSError("no network")


@pytest.mark.parametrize("wish, connect, is_local", [
    ("auto", refuse, True), ("auto", lambda *a, **k: Connection(), False), ("local", None, True),
    ("remote", None, False)])
def test_charts_are_chosen_by_wish_or_by_the_network(wish, connect, is_local):
    assert charts_page.Choice(wish, connect).wait() is is_local


def test_the_page_of_every_generation_is_rewritten():
    page = b"script.src = `https://${domain}/charts/loader.js`;"
    assert charts_page.rewrite(page) == b"script.src = `tbprof_charts.js`;"
