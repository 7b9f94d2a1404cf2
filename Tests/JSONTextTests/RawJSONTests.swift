import Foundation
import JSONText
import Testing

@Suite("RawJSON")
struct RawJSONTests {
    @Test(
        "removing a direct member of an object keeps every other byte",
        arguments: [
            (#"{"s":1}"#, #"{}"#),
            (#"{ "s" : "x" }"#, #"{}"#),
            (#"{"s":1,"a":2}"#, #"{"a":2}"#),
            (#"{"a":2,"s":1}"#, #"{"a":2}"#),
            (#"{"a":1,"s":{"s":[1,{"s":2}]},"b":"s"}"#, #"{"a":1,"b":"s"}"#),
            (#"{"a":{"s":1},"b":["s",{"s":2}]}"#, #"{"a":{"s":1},"b":["s",{"s":2}]}"#),
            (#"{"a":"\",\"s\":1","s":"\\","b":"}"}"#, #"{"a":"\",\"s\":1","b":"}"}"#),
            (#"{"s":"a,b}]{","t":1}"#, #"{"t":1}"#),
            (#"{"s":null,"s":2,"a":1}"#, #"{"a":1}"#),
            (#"{"a":1,"s":2,"b":3,"s":4}"#, #"{"a":1,"b":3}"#),
            (#"{"\u0073":1,"a":2}"#, #"{"a":2}"#),
            (#"{"a":"s"}"#, #"{"a":"s"}"#),
            (#"{"ss":1,"\\s":2}"#, #"{"ss":1,"\\s":2}"#),
            (#"{}"#, #"{}"#),
            (#"["s",1]"#, #"["s",1]"#),
            (#"[{"s":1}]"#, #"[{"s":1}]"#),
            (#""s""#, #""s""#),
            ("12", "12"),
            ("", ""),
            ("{\"é\":\"ü\",\n\"s\":\"日本\"}", "{\"é\":\"ü\"}"),
        ]
    )
    func removing(_ text: String, _ wanted: String) {
        #expect(RawJSON(unchecked: text).removing(member: "s").description == wanted)
    }

    @Test(
        "an invalid text is returned or shortened, but never traps",
        arguments: [
            "{", "{\"", "{\"s", "{\"s\"", "{\"s\":", "{\"s\":1", "{\"s\\", "{\"s\":\"\\", "}{", "]",
            "{,\"s\":1}", "{\"s\":1,,}", "{\"\\ud800s\":1}",
        ]
    )
    func hostile(_ text: String) {
        let removed = RawJSON(unchecked: text).removing(member: "s").description
        #expect(removed.utf8.count <= max(text.utf8.count, 0) + 3)
    }

    @Test(
        "a compacted value keeps all bytes but white space outside strings",
        arguments: [
            ("{\n  \"a\" : [1,\t2 ],\r\n \"b\":\"x  y\"}\n", #"{"a":[1,2],"b":"x  y"}"#),
            (#" "a \" b\\" "#, #""a \" b\\""#),
            (#"{"a":"\\" , "b":" \" "}"#, #"{"a":"\\","b":" \" "}"#),
            (#"{"a":"\n\u000a"}"#, #"{"a":"\n\u000a"}"#),
            ("[\"\u{2028} \u{2029}\u{85}\" , 1]", "[\"\u{2028} \u{2029}\u{85}\",1]"),
            ("\n12\n", "12"),
            ("", ""),
        ]
    )
    func compacted(_ text: String, _ wanted: String) {
        #expect(RawJSON(unchecked: text).compacted.description == wanted)
    }

    @Test("a compacted invalid text has no line ends")
    func compactedNonsense() {
        for text in ["\"a\nb", "{\"a\r\n", "\\\"\n\"\r", "\"\\\n\""] {
            let bytes = RawJSON(unchecked: text).compacted.utf8
            #expect(!bytes.contains(0x0A) && !bytes.contains(0x0D), "\(text)")
        }
    }

    @Test("a compacted value is the same document on one line", arguments: 0..<64)
    func compactedFuzz(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        for round in 0..<50 {
            let text = RandomJSON.object(using: &generator)
            let compact = RawJSON(unchecked: text).compacted
            let shown = Comment(rawValue: "seed \(seed), round \(round): \(text)")
            let (was, now) = try (document(text), document(compact.description))
            #expect(was == now, shown)
            #expect(compact.compacted == compact, shown)
            let spaces = Set("\n\r\t".utf8)
            #expect(!compact.utf8.contains(where: spaces.contains), shown)
            #expect(RawJSON(Array(compact.utf8)) != nil, shown)
            #expect(compact.utf8.count <= text.utf8.count, shown)
        }
    }

    private func document(_ text: String) throws -> NSObject? {
        try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            as? NSObject
    }

    @Test("a foreign member is checked for grammar, depth and UTF-8 only")
    func foreignMember() throws {
        let limits = JSONLimits(
            depthMax: 4,
            valuesMax: 20,
            membersMax: 2,
            foreignMember: "object"
        )
        func check(_ text: String) throws(JSONError) {
            _ = try RawJSON(checking: Array(text.utf8), limits: limits)
        }
        let odd = #"{"a":1,"a":2,"b":"\ud800","c":[[[[[[1,2,3,4,5,6,7,8,9,0]]]]]]}"#
        try check(#"{"x":1,"object":\#(odd)}"#)
        try check(#"{"x":[{"object":\#(odd)}]}"#)
        #expect(throws: JSONError.self) { try check(odd) }
        #expect(throws: JSONError.self) { try check(#"{"other":\#(odd)}"#) }
        #expect(throws: JSONError.self) { try check(#"{"object":1,"object":2}"#) }
        #expect(throws: JSONError.self) { try check(#"{"object":{"a":}}"#) }
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(throws: JSONError.self) { try check(#"{"object":\#(deep)}"#) }
        let bytes = Array(#"{"object":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        #expect(throws: JSONError.self) { try RawJSON(checking: bytes, limits: limits) }
    }

    @Test("a written literal is read back as the same string")
    func literal() throws {
        let strings = [
            "", "plain", "\"quoted\"", "back\\slash", "line\nfeed\r\ttab", "\u{0}\u{1f}\u{7f}",
            "日本語 🎉", "</script>",
        ]
        for string in strings {
            let literal = JSONWriter.literal(string)
            #expect(try JSONDecoder().decode(String.self, from: Data(literal.utf8)) == string)
        }
    }
}
