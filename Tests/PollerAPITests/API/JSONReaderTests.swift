import JSONText
import Poller
import Testing

@testable import PollerAPI

@Suite("The JSON reader")
struct JSONReaderTests {
    private func read(_ text: String) throws -> JSONValue {
        try JSONReader.read(Array(text.utf8))
    }

    @Test("reads what RFC 8259 allows")
    func reads() throws {
        let text = #" { "a" : [ 1 , -2.5e+3, true,false, null, {} , "\u00fc\ud83d\ude00\/\n" ] } "#
        guard case .object(let members) = try read(text), case .array(let items) = members[0].value,
            case .string(let last) = items[6]
        else { throw UnexpectedAnswer(text: "not what was written") }
        #expect(members[0].name == "a")
        #expect(last == "ü😀/\n")
    }

    @Test(
        "refuses everything else",
        arguments: [
            "", " ", "{", "[", "[1,]", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "'a'", "01", "-", "1.",
            "1e", "tru", "nul", "NaN", "[1 2]", "\"", "\"\\", "\"\\x\"", "\"\\u12g4\"", "\"\\u12",
            "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\n\"", "\u{FEFF}{}", "{}{}",
            "{\"a\":1,\"a\":2}",
        ]
    )
    func refuses(text: String) {
        #expect(throws: JSONReader.Failure.self) { try read(text) }
    }

    @Test("refuses bytes that are no UTF-8, and text cut at any byte")
    func bytes() throws {
        #expect(throws: JSONReader.Failure.self) { try JSONReader.read([0x22, 0xFF, 0x22]) }
        let whole = Array(#"{"source":"src_\u00fc\ud83d\ude00","n":[1.5e3,true,null,{}]}"#.utf8)
        for length in 0..<whole.count {
            #expect(throws: JSONReader.Failure.self) {
                try JSONReader.read(Array(whole[..<length]))
            }
        }
    }

    @Test("bounds depth, members and values")
    func bounds() {
        #expect(throws: JSONReader.Failure.self) {
            try read(String(repeating: "[", count: 100_000))
        }
        let members = (0...64).map { "\"\($0)\":0" }.joined(separator: ",")
        #expect(throws: JSONReader.Failure.self) { try read("{\(members)}") }
        let values = String(repeating: "0,", count: JSONReader.valuesMax)
        #expect(throws: JSONReader.Failure.self) { try read("[\(values)0]") }
    }

    @Test("says where a mistake is")
    func places() {
        let bytes = Array("{\n  \"a\": x}".utf8)
        do throws(JSONReader.Failure) {
            _ = try JSONReader.read(bytes)
            Issue.record("nothing was refused")
        } catch {
            #expect(error.place(in: bytes) == "line 2, column 8")
        }
    }

    @Test("a member's value is found as it stands, and only at the top")
    func members() {
        let json = RawJSON(unchecked: #"{"x":{"object":1},"s":"object","object":{"a":"}"},"y":2}"#)
        #expect(json.member("object")?.description == #"{"a":"}"}"#)
        #expect(json.member("y")?.description == "2")
        #expect(json.member("a") == nil)
    }

    @Test("outbox cursors survive the wire; made-up ones do not")
    func cursors() {
        let cursor = OutboxCursor(positions: [.init(ms: 9, n: 1), .init(ms: 10, n: 0), .start])
        #expect(OutboxCursor(cursor.text, partitions: 3) == cursor)
        #expect(OutboxCursor(cursor.text, partitions: 4) == nil)
        #expect(OutboxCursor("", partitions: 1) == nil)
        for plain in [
            "1:", "1:1", "2:1-1", "1:1--1", "1:+1-1", "1:1-1,", "1:99999999999999999999-1",
        ] {
            #expect(OutboxCursor(Base64URL.encode(plain.utf8), partitions: 1) == nil)
        }
        #expect(OutboxPosition(ms: 9, n: 0) < OutboxPosition(ms: 10, n: 0))
    }
}
