import PollerOperations
import Testing

@testable import pollerctl

/// `--traceparent` accepts the same values as the server.
@Suite("A traceparent on the command line")
struct TraceparentTests {
    static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    static let span = "00f067aa0ba902b7"

    static let valid = [
        "00-\(trace)-\(span)-01", "00-\(trace)-\(span)-00", "00-\(trace)-\(span)-ff",
        "01-\(trace)-\(span)-01", "01-\(trace)-\(span)-01-more", "fe-\(trace)-\(span)-01-",
    ]

    static let invalid = [
        "", "-", trace, "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-",
        "00-\(trace)-\(span)-01-more", "ff-\(trace)-\(span)-01",
        "00-\(trace.uppercased())-\(span)-01",
        "00-\(String(repeating: "0", count: 32))-\(span)-01", "00-\(trace)-0000000000000000-01",
        "00-\(trace)0-\(span)-01", "00_\(trace)_\(span)_01", " 00-\(trace)-\(span)-01",
        "00-\(trace)-\(span)-01\n", "01-\(trace)-\(span)-01more", "0g-\(trace)-\(span)-01",
    ]

    @Test("a value that the server reads is accepted", arguments: valid)
    func taken(_ text: String) throws {
        #expect(TraceContext(traceparent: text) != nil)
        #expect(try Traceparent.checked(text) == text)
    }

    @Test("a value that the server ignores is rejected with an example", arguments: invalid)
    func refused(_ text: String) {
        #expect(TraceContext(traceparent: text) == nil)
        let error = #expect(throws: (any Error).self) { try Traceparent.checked(text) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("00-\(Self.trace)-\(Self.span)-01"))
    }
}
