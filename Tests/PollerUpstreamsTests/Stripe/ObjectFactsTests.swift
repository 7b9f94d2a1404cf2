import JSONText
import PollerPayments
import PollerTesting
import Testing

@testable import PollerUpstreams

@Suite("The facts of an observed object")
struct ObjectFactsTests {
    private func facts(_ text: String) throws -> ObjectFacts {
        try ObjectFacts(scanning: Array(text.utf8))
    }

    @Test("only members of the outermost object are read, in any order and spelling")
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

    @Test("a missing, null or mistyped member is `nil`, and the first of two members counts")
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
        "an invalid object, ID or status is rejected",
        arguments: [
            "", "[]", "1", "{", "{}x", "{} {}", #"{"a":1,}"#, #"{"id":"a","b":tru}"#,
            #"{"id":7,"status":"x"}"#, #"{"id":"a","status":null}"#, #"{"id":"\ud800"}"#,
            String(repeating: #"{"a":"#, count: 200) + "1" + String(repeating: "}", count: 200),
        ]
    )
    func refused(text: String) {
        #expect(throws: JSONError.self) { try facts(text) }
    }

    @Test("the scanner agrees with a full parser on 10,000 damaged objects")
    func damaged() {
        let sound = #"""
            {"id": "src_1","object":"source","st\u0061tus":"pending", "usage":"reusable",
            "owner":{"id":"b","list":[1,-2.5e3,true,null,{"status":"\"\\x"}]},
            "next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"https://b/x?a=1"}},
            "receiver":{"amount_received":7,"amount_returned":0},"last_payment_error":null}
            """#
        let damages = Array("{}[]\",:\\0129.eE+-tfnu \u{1}".utf8)
        var generator = SeededGenerator(seed: 7)
        var accepted = 0
        for round in 0..<10_000 {
            var bytes = Array(sound.utf8)
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            let byte = damages[Int.random(in: 0..<damages.count, using: &generator)]
            switch round % 3 {
            case 0: bytes[place] = byte
            case 1: bytes.remove(at: place)
            default: bytes.insert(byte, at: place)
            }
            let mine = try? ObjectFacts(scanning: bytes)
            let whole = RawJSON(bytes)
            let id = whole?.member("id")
            let status = whole?.member("status")
            let areTexts = [id, status].allSatisfy { $0 == nil || $0?.string != nil }
            let isWanted = whole?.kind == .object && areTexts
            #expect((mine != nil) == isWanted, "\(generator), round \(round)")
            guard let mine, isWanted else { continue }
            accepted += 1
            #expect(mine.id == id?.string && mine.status == status?.string, "round \(round)")
            #expect(mine.usage == whole?.member("usage")?.string, "round \(round)")
        }
        #expect(accepted > 1000)
    }
}
