import PollerOperations
import PollerTesting
import Testing

/// Cases of the standard's own test suite (<https://github.com/w3c/trace-context/tree/main/test>).
@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test("a valid `traceparent` is read and written unchanged")
    func valid() throws {
        for flags in ["00", "01", "02", "03"] {
            let text = "00-\(Self.trace)-\(Self.span)-\(flags)"
            let context = try #require(TraceContext(traceparent: text))
            #expect(context.traceparent == text && context.description == text)
            #expect(context.traceID == Self.trace && context.spanID == Self.span)
            #expect(context.isSampled == flags.hasSuffix("1") || flags == "03")
        }
    }

    @Test(
        "an invalid `traceparent` is ignored",
        arguments: [
            "", "00", "-", "00-\(trace)-\(span)", "00-\(trace)-\(span)-", "00-\(trace)-\(span)-1",
            "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01", "000-\(trace)-\(span)-01",
            ".0-\(trace)-\(span)-01", "0.-\(trace)-\(span)-01", "FF-\(trace)-\(span)-01",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00-.\(trace.dropFirst())-\(span)-01", "00-\(trace.dropLast())-\(span)-01",
            "00-\(trace)0-\(span)-01", "00-\(trace.uppercased())-\(span)-01",
            "00-\(trace)-\(span.uppercased())-01", "00-\(trace)-\(span.dropLast())-01",
            "00-\(trace)-\(span)0-01", "00-\(trace)-\(span)-.1", "00-\(trace)-\(span)-0.",
            "00-\(trace)-\(span)-001", "00-\(trace)-\(span)-01-what-the-future-will-be-like",
            "00-\(trace)-\(span)-01 ", " 00-\(trace)-\(span)-01", "00_\(trace)-\(span)-01",
            "00-\(trace)-\(span)-01, 00-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01.what",
            "cc-\(trace)-\(span)-0", "00-\(trace)-\(span)-0１",
        ]
    )
    func invalid(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test("the known fields of a future version are read")
    func future() {
        let known = TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-01")
        for text in [
            "cc-\(Self.trace)-\(Self.span)-01", "cc-\(Self.trace)-\(Self.span)-01-what-the",
        ] {
            #expect(TraceContext(traceparent: text) == known)
        }
    }

    @Test("unknown flags are not propagated")
    func flags() {
        let context = TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-fd")
        #expect(context?.traceparent == "00-\(Self.trace)-\(Self.span)-01")
    }

    @Test("the packed form has 34 characters and no field separator")
    func packed() throws {
        let packed = Samples.trace.packed
        #expect(packed == "S_kvNXezTaajzpKdDg5HNgDwZ6oLqQK3AQ" && packed.utf8.count == 34)
        #expect(TraceContext(packed: packed) == Samples.trace)
        for text in [
            "", "pc", String(packed.dropLast()), packed + "A", packed.replacing("_", with: "|"),
        ] {
            #expect(TraceContext(packed: text) == nil)
        }
    }

    @Test("a child span keeps the trace and its sampling flag")
    func child() {
        let child = Samples.trace.child(span: 1)
        #expect(child?.traceparent == "00-\(Self.trace)-0000000000000001-01")
        #expect(Samples.trace.child(span: 0) == nil)
    }
}
