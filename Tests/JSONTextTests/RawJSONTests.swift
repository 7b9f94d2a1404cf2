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

    @Test("a damaged value is compacted as one byte after another decides", arguments: 0..<64)
    func compactedBytes(seed: UInt64) {
        var generator = SplitMix(state: seed)
        for round in 0..<50 {
            var bytes = Array(RandomJSON.object(using: &generator).utf8)
            for _ in 0..<4 where !bytes.isEmpty {
                let place = Int.random(in: bytes.indices, using: &generator)
                bytes.insert(
                    Array("\\\"\n\r\t  ".utf8).randomElement(using: &generator) ?? 0,
                    at: place
                )
            }
            var (kept, isInString, isEscaped): ([UInt8], Bool, Bool) = ([], false, false)
            for byte in bytes {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\"") {
                    isInString.toggle()
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = isInString
                }
                let isLineEnd = byte == 0x0A || byte == 0x0D
                if !isLineEnd, isInString || byte != 0x20 && byte != 0x09 { kept.append(byte) }
            }
            let compact = RawJSON(unchecked: bytes).compacted
            #expect(Array(compact.utf8) == kept, "seed \(seed), round \(round)")
        }
    }

    @Test("members are found by name as one by one", arguments: 0..<64)
    func lookup(seed: UInt64) {
        var generator = SplitMix(state: seed)
        for round in 0..<50 {
            var bytes = Array(RandomJSON.object(using: &generator).utf8)
            if Bool.random(using: &generator) { RandomJSON.mutate(&bytes, using: &generator) }
            let json = RawJSON(unchecked: bytes)
            let members = json.members ?? []
            let lookup = MemberLookup(json)
            #expect(lookup.names == members.map(\.name), "seed \(seed), round \(round)")
            #expect(lookup.isEmpty == members.isEmpty)
            for name in Set(members.map(\.name) + ["", "status", "missing"]) {
                let found = lookup[name]
                // A name that is not UTF-8 is found by no text.
                if !name.isEmpty {
                    #expect(found == members.first { $0.name == name }?.value)
                }
                #expect(found == json.member(name), "seed \(seed), round \(round), \(name)")
            }
        }
    }

    @Test("a name with escapes is found, and the first of two members counts")
    func lookupEscapes() {
        let lookup = MemberLookup(RawJSON(unchecked: #"{"\u0061b":1,"ab":2,"é":3,"":4}"#))
        #expect(lookup["ab"]?.description == "1")
        #expect(lookup["é"]?.description == "3" && lookup[""]?.description == "4")
        #expect(lookup["a"] == nil && lookup["abc"] == nil)
        #expect(MemberLookup(RawJSON(unchecked: "[1]")).isEmpty)
    }

    @Test("distinct members are the first of each name, in order")
    func distinct() {
        let lookup = MemberLookup(RawJSON(unchecked: #"{"b":1,"\u0061":2,"a":3,"b":4,"c":{}}"#))
        #expect(lookup.distinct.map(\.name) == ["b", "a", "c"])
        #expect(lookup.distinct.map(\.value.description) == ["1", "2", "{}"])
    }

    @Test("a sequence longer than a step can be is found")
    func longSearch() {
        let wanted = "b" + String(repeating: "a", count: 300)
        let text = String(repeating: "a", count: 1000) + wanted + "a"
        let json = RawJSON(unchecked: "\"\(text)\"")
        #expect(json.contains(ByteSearch(wanted)))
        #expect(!json.contains(ByteSearch("c" + wanted)))
        let rest = "\"" + String(repeating: "a", count: 1000) + "xa\""
        #expect(json.replacing(ByteSearch(wanted), with: "x").description == rest)
    }

    @Test("a sequence of bytes is found where String finds it", arguments: 0..<64)
    func search(seed: UInt64) {
        var generator = SplitMix(state: seed)
        func text(_ lengths: ClosedRange<Int>) -> String {
            String(
                (0..<Int.random(in: lengths, using: &generator)).map { _ in
                    "aabc".randomElement(using: &generator) ?? "a"
                }
            )
        }
        for _ in 0..<200 {
            let (whole, part) = (text(0...60), text(1...5))
            let json = RawJSON(unchecked: whole)
            let shown = Comment(rawValue: "\(part) in \(whole)")
            #expect(json.contains(ByteSearch(part)) == whole.contains(part), shown)
            let replaced = json.replacing(ByteSearch(part), with: "-").description
            #expect(replaced == whole.replacing(part, with: "-"), shown)
        }
    }

    @Test("bytes after a match are replaced with it, also a match among them")
    func searchAndMore() {
        let json = RawJSON(unchecked: #""k=1k=2&k=3""#)
        let ends = Set(#"&""#.utf8)
        let replaced = json.replacing(
            ByteSearch("k="),
            with: "k=x",
            andBytesWhile: { !ends.contains($0) }
        )
        #expect(replaced.description == #""k=x&k=x""#)
        #expect(
            !json.contains(ByteSearch("")) && !json.contains(ByteSearch(json.description + " "))
        )
        // A sequence of more than 255 bytes has shorter steps than possible.
        let long = String(repeating: "ab", count: 200)
        #expect(RawJSON(unchecked: "b" + long + "a").contains(ByteSearch(long)))
        #expect(!RawJSON(unchecked: long.replacing("ba", with: "bb")).contains(ByteSearch(long)))
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

    @Test("a single byte is found at each position, and none outside the value")
    func singleByte() {
        let search = ByteSearch("#")
        for count in 0...40 {
            let plain = [UInt8](repeating: 0x22, count: count)
            #expect(!RawJSON(unchecked: plain).contains(search))
            for place in 0..<count {
                var text = plain
                text[place] = UInt8(ascii: "#")
                for start in 0...count {
                    for end in start...count {
                        let json = RawJSON(text, start..<end)
                        #expect(json.contains(search) == (start..<end).contains(place))
                    }
                }
            }
        }
        // The bytes before and after it differ by one bit.
        #expect(!RawJSON(unchecked: "\"$\"\"$$$$$$$$").contains(search))
        #expect(RawJSON(unchecked: "$$$$$$$#$$$$").contains(search))
    }

    @Test("a member is noticed by its quoted name and a colon")
    func quotedNames() {
        let search = ByteSearch("\"source\"")
        for text in [
            #"{"source":1}"#, "{\"source\" \n\t\r : 1}", #"{"a":"source","b":{"source":1}}"#,
        ] {
            #expect(RawJSON(unchecked: text).mayContain(memberNamed: search))
        }
        for text in [
            #"{"object":"source"}"#, #"["source", ":"]"#, #"{"sources":1}"#, #"{"a":"source""#,
            #""source""#, "",
        ] {
            #expect(!RawJSON(unchecked: text).mayContain(memberNamed: search))
        }
    }

    @Test("the members of a name are removed, and the first is returned")
    func extracted() {
        let json = RawJSON(unchecked: #"{"a":1,"b":[2],"c":{"b":3},"\u0062":4,"b":5}"#)
        let (rest, value) = json.extracting(member: "b")
        #expect(rest.description == #"{"a":1,"c":{"b":3}}"#)
        #expect(value?.description == "[2]")
        #expect(json.extracting(member: "z").rest == json)
        #expect(json.extracting(member: "z").value == nil)
        #expect(RawJSON(unchecked: "[1]").extracting(member: "b").value == nil)
    }
}
