import Foundation
import JSONText
import Testing

@testable import PollerUpstreams

@Suite("The scanner of observed objects")
struct JSONScannerTests {
    private func facts(_ text: String) throws -> ObjectFacts {
        try ObjectFacts(scanning: Array(text.utf8))
    }

    @Test("finds the fields of the outermost object, wherever they stand and however written")
    func fields() throws {
        let found = try facts(
            #"""
             { "owner" : {"id":"nested","status":"nested","type":"no"}, "created":1700000000 ,
             "id":"src_1","list":[{"status":"no"},[],{}], "object":"source",
             "st\u0061tus":"charge\u0061ble", "usage":"reusable","type":"card","livemode":true }
            """#
        )
        #expect(found.id == "src_1")
        #expect(found.object == "source")
        #expect(found.status == "chargeable")
        #expect(found.type == "card")
        #expect(found.usage == "reusable")
        #expect(found.created == 1_700_000_000)
        #expect(found.isLive == true)
    }

    @Test("what is missing, null or of another type stays nil; the first of two counts")
    func openWorld() throws {
        let found = try facts(
            #"{"id":"a","status":"x","status":"y","usage":null,"type":7,"created":"late","livemode":0}"#
        )
        #expect(found.status == "x")
        #expect(found.usage == nil && found.type == nil)
        #expect(found.created == nil && found.isLive == nil)
        #expect(try facts("{}").id == nil)
    }

    @Test(
        "what is no JSON object is refused",
        arguments: [
            "", "[]", "1", "{", "{}x", "{} {}", #"{"a":1,}"#, #"{"a" 1}"#, #"{a:1}"#, #"{"a":01}"#,
            #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":-}"#, #"{"a":1e}"#, #"{"a":tru}"#, #"{"a":nul"#,
            #"{"a":"x"#, #"{"a":"\x"}"#, #"{"a":"\u12g4"}"#, "{\"a\":\"\n\"}", #"{"a":[1,]}"#,
            #"{"id":7,"status":"x"}"#, #"{"id":"a","status":null}"#, #"{"a":"\"#, #"{"a":"\u00"#,
            String(repeating: #"{"a":"#, count: 200) + "1" + String(repeating: "}", count: 200),
        ]
    )
    func refused(text: String) {
        #expect(throws: JSONError.self) { try facts(text) }
    }

    @Test("agrees with the library on 20,000 objects and their mutations", arguments: [7, 2026])
    func fuzz(seed: UInt64) throws {
        var chance = SplitMix(state: seed)
        var accepted = 0
        for round in 0..<10_000 {
            var bytes = Array(JSONText.object(using: &chance).utf8)
            if round % 2 == 1 { JSONText.mutate(&bytes, using: &chance) }
            let text = String(validating: bytes, as: UTF8.self)
            let known = text.flatMap { text in
                try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            }
            let mine = try? ObjectFacts(scanning: bytes)
            let shown = "seed \(seed), round \(round): \(String(decoding: bytes, as: UTF8.self))"
            guard let known, text != nil else {
                // The library refuses more than the grammar does: half a surrogate pair and
                // numbers beyond a double. Nothing else may slip through.
                if mine != nil, text != nil {
                    #expect(JSONText.isOutsideGrammar(bytes), "accepted alone, \(shown)")
                }
                continue
            }
            accepted += 1
            guard known["id"] is String?, known["status"] is String? else {
                #expect(mine == nil, "\(shown)")
                continue
            }
            // Foundation takes a comma before a closing bracket; the grammar does not.
            if mine == nil, JSONText.hasTrailingComma(bytes) { continue }
            let facts = try #require(mine, "refused alone, \(shown)")
            #expect(facts.id == known["id"] as? String, "\(shown)")
            #expect(facts.status == known["status"] as? String, "\(shown)")
            #expect(facts.usage == known["usage"] as? String, "\(shown)")
        }
        #expect(accepted > 5000)
    }
}
