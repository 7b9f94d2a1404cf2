import JSONText
import PollerDeliveries
import PollerIdentity
import Testing

@testable import PollerAPI

@Suite("Parsing of request JSON")
struct RequestJSONTests {
    private func read(_ text: String) throws -> RawJSON {
        try Problem.checkedJSON(Array(text.utf8))
    }

    @Test("JSON according to RFC 8259 is parsed")
    func reads() throws {
        let text = #" { "a" : [ 1 , -2.5e+3, true,false, null, {} , "\u00fc\ud83d\ude00\/\n" ] } "#
        let members = try #require(try read(text).members)
        let items = try #require(members[0].value.elements)
        #expect(members[0].name == "a")
        #expect(items.map(\.kind) == [.number, .number, .bool, .bool, .null, .object, .string])
        #expect(items[1].number == "-2.5e+3")
        #expect(items[6].string == "ü😀/\n")
    }

    @Test(
        "invalid JSON and duplicate members are rejected",
        arguments: [
            "", " ", "{", "[", "[1,]", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "'a'", "01", "-", "1.",
            "1e", "tru", "nul", "NaN", "[1 2]", "\"", "\"\\", "\"\\x\"", "\"\\u12g4\"", "\"\\u12",
            "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\n\"", "\u{FEFF}{}", "{}{}",
            "{\"a\":1,\"a\":2}",
        ]
    )
    func refuses(text: String) {
        #expect(throws: Problem.self) { try read(text) }
    }

    @Test("invalid UTF-8 and truncated text are rejected")
    func bytes() throws {
        #expect(throws: Problem.self) { try Problem.checkedJSON([0x22, 0xFF, 0x22]) }
        let whole = Array(#"{"source":"src_\u00fc\ud83d\ude00","n":[1.5e3,true,null,{}]}"#.utf8)
        for length in 0..<whole.count {
            #expect(throws: Problem.self) { try Problem.checkedJSON(Array(whole[..<length])) }
        }
    }

    @Test("depth, members and values are limited")
    func bounds() {
        #expect(throws: Problem.self) { try read(String(repeating: "[", count: 100_000)) }
        let members = (0...64).map { "\"\($0)\":0" }.joined(separator: ",")
        #expect(throws: Problem.self) { try read("{\(members)}") }
        let values = String(repeating: "0,", count: 400_000)
        #expect(throws: Problem.self) { try read("[\(values)0]") }
    }

    @Test("an error states its line and column")
    func places() {
        do throws(Problem) {
            _ = try Problem.checkedJSON(Array("{\n  \"a\": x}".utf8))
            Issue.record("nothing was refused")
        } catch {
            #expect(error.detail == "At line 2, column 8: a value is expected here.")
        }
    }

    @Test("a top-level member is returned as written")
    func members() {
        let json = RawJSON(unchecked: #"{"x":{"object":1},"s":"object","object":{"a":"}"},"y":2}"#)
        #expect(json.member("object")?.description == #"{"a":"}"}"#)
        #expect(json.member("y")?.description == "2")
        #expect(json.member("a") == nil)
    }

    @Test("an outbox cursor survives encoding, and invalid cursors are rejected")
    func cursors() {
        let cursor = OutboxCursor(positions: [.init(ms: 9, n: 1), .init(ms: 10, n: 0), .start])
        #expect(OutboxCursor(cursor.text, partitions: 3) == cursor)
        #expect(OutboxCursor(cursor.text, partitions: 4) == nil)
        // In a store with more partitions since, the new ones start at the position of their origin.
        let more = OutboxCursor(cursor.text, partitions: 6)
        #expect(more?.positions == cursor.positions + cursor.positions)
        #expect(OutboxCursor("", partitions: 1) == nil)
        for plain in [
            "1:", "1:1", "2:1-1", "1:1--1", "1:+1-1", "1:1-1,", "1:99999999999999999999-1",
        ] {
            #expect(OutboxCursor(Base64URL.encode(plain.utf8), partitions: 1) == nil)
        }
        #expect(OutboxPosition(ms: 9, n: 0) < OutboxPosition(ms: 10, n: 0))
    }
}
