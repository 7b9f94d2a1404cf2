import Foundation
import JSONText
import Testing

@Suite("JSONScanner")
struct JSONScannerTests {
    /// Returns the members of the outermost object: the text of a string, `nil` for other values.
    ///
    /// Of two members of one name, the first counts.
    private func members(_ bytes: [UInt8]) throws(JSONError) -> [String: String?] {
        var members: [String: String?] = [:]
        var scanner = JSONScanner(bytes)
        try scanner.enterObject()
        while let literal = try scanner.nextName() {
            let name = try scanner.decode(literal)
            #expect(scanner.spells(literal, "status") == (name == "status"))
            #expect(scanner.spells(literal, text: name))
            #expect(!scanner.spells(literal, text: name + "x"))
            var text: String?
            if scanner.peek() == UInt8(ascii: "\"") {
                text = try scanner.decode(try scanner.string())
            } else {
                try scanner.skip()
            }
            if !members.keys.contains(name) { members.updateValue(text, forKey: name) }
        }
        try scanner.finish()
        return members
    }

    @Test("the members of the outermost object are found in any order and spelling")
    func found() throws {
        let found = try members(
            Array(
                #"""
                 { "owner" : {"id":"nested","status":"nested","type":"no"}, "created":1700000000 ,
                 "id":"src_1","list":[{"status":"no"},[],{}], "none":null,"none":"second",
                 "st\u0061tus":"charge\u0061ble", "t\ud83d\ude00":"\n\/\"","livemode":true }
                """#.utf8
            )
        )
        let wanted: [String: String?] = [
            "owner": nil, "created": nil, "id": "src_1", "list": nil, "none": nil,
            "status": "chargeable", "t😀": "\n/\"", "livemode": nil,
        ]
        #expect(found == wanted)
    }

    @Test("a name is compared byte for byte, with its escapes decoded")
    func names() throws {
        var scanner = JSONScanner(Array(#"{"caf\u00e9":1}"#.utf8))
        try scanner.enterObject()
        let name = try #require(try scanner.nextName())
        #expect(scanner.spells(name, text: "caf\u{e9}"))
        #expect(!scanner.spells(name, text: "cafe\u{301}"))
    }

    @Test(
        "a text that is not a JSON object is rejected",
        arguments: [
            "", "[]", "1", "{", "{}x", "{} {}", #"{"a":1,}"#, #"{"a" 1}"#, #"{a:1}"#, #"{"a":01}"#,
            #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":-}"#, #"{"a":1e}"#, #"{"a":tru}"#, #"{"a":nul"#,
            #"{"a":"x"#, #"{"a":"\x"}"#, #"{"a":"\u12g4"}"#, "{\"a\":\"\n\"}", #"{"a":[1,]}"#,
            #"{"a":"\"#, #"{"a":"\u00"#,
            String(repeating: #"{"a":"#, count: 200) + "1" + String(repeating: "}", count: 200),
        ]
    )
    func refused(text: String) {
        #expect(throws: JSONError.self) { try members(Array(text.utf8)) }
    }

    @Test("agrees with Foundation on 20,000 objects and their mutations", arguments: [7, 2026])
    func fuzz(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        var accepted = 0
        for round in 0..<10_000 {
            var bytes = Array(RandomJSON.object(using: &generator).utf8)
            if round % 2 == 1 { RandomJSON.mutate(&bytes, using: &generator) }
            let text = String(validating: bytes, as: UTF8.self)
            let known = text.flatMap { text in
                try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            }
            let mine = try? members(bytes)
            let shown = "seed \(seed), round \(round): \(String(decoding: bytes, as: UTF8.self))"
            guard let known, text != nil else {
                // The library rejects more than the grammar does: half a surrogate pair and numbers
                // beyond a double. No other difference is allowed.
                if mine != nil, text != nil {
                    #expect(RandomJSON.isOutsideGrammar(bytes), "accepted alone, \(shown)")
                }
                continue
            }
            accepted += 1
            // Foundation accepts a comma before a closing bracket; the grammar does not.
            if mine == nil, RandomJSON.hasTrailingComma(bytes) { continue }
            let found = try #require(mine, "rejected alone, \(shown)")
            let wanted = known.mapValues { $0 as? String }
            #expect(found == wanted, "\(shown)")
        }
        #expect(accepted > 5000)
    }

    @Test("a string ends at its quotation mark, wherever it is and whatever byte is before it")
    func ends() throws {
        for length in 0...25 {
            for place in 0..<max(length, 1) {
                for byte in UInt8.min...UInt8.max {
                    var text = [UInt8](repeating: 0x78, count: length)
                    if place < length { text[place] = byte }
                    let tail = Array("\",\"tail\"".utf8)
                    var scanner = JSONScanner([0x22] + text + tail)
                    let literal = try? scanner.string()
                    let isSpecial = byte < 0x20 || byte == 0x5C && length > 0
                    if length > 0, byte == 0x22 {
                        #expect(literal?.range == 1..<(1 + place))
                    } else if length > 0, isSpecial {
                        // An `x` or the quotation mark after the backslash.
                        let isEscaped = byte == 0x5C && place == length - 1
                        #expect(literal?.range.count == (isEscaped ? length + 2 : nil))
                        #expect(literal?.hasEscapes ?? true)
                    } else {
                        #expect(literal?.range == 1..<(1 + length))
                        #expect(literal?.hasEscapes == false)
                    }
                    if length == 0 { break }
                }
            }
        }
    }
}
