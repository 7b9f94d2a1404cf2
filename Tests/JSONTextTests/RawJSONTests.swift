import Foundation
import JSONText
import Testing

@Suite("RawJSON")
struct RawJSONTests {
    @Test(
        "removes a member of the object itself and leaves every other byte",
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
        "text that is no JSON comes back or shrinks, but never traps",
        arguments: [
            "{", "{\"", "{\"s", "{\"s\"", "{\"s\":", "{\"s\":1", "{\"s\\", "{\"s\":\"\\", "}{", "]",
            "{,\"s\":1}", "{\"s\":1,,}", "{\"\\ud800s\":1}",
        ]
    )
    func hostile(_ text: String) {
        let removed = RawJSON(unchecked: text).removing(member: "s").description
        #expect(removed.utf8.count <= max(text.utf8.count, 0) + 3)
    }

    @Test("a literal reads back as the same string")
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
