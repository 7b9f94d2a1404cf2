import PollerIdentity
import RedisClient
import Testing

@testable import PollerRedis

/// The texts stored in the record of a watch instead of its long values.
@Suite struct ShortTextTests {
    private static let texts = [
        "", "https://shop.example/webhooks/payments", "mailto:jane@shop.example.com",
        "https://a.example/\nhttps://www.b.com/api/x\nredis+stream:orders",
        #"{"order":"A-1","customer":"Jane Doe"}"#, #"{"customer":"cus_1","order_id":"1"}"#,
        #"{"order":"{\"order\":\"","ä":"\u0001\n","email":"x@gmail.com"}"#,
        "{\"a\": \"b\",\n\t\"c\": \"d\"}",
    ]

    @Test("abbreviated text is restored exactly and is never longer", arguments: texts)
    func exact(_ text: String) throws {
        let short = try #require(ShortText.bytes(of: text))
        #expect(ShortText.text(of: short) == text)
        #expect(short.count <= text.utf8.count)
        // A text written by a script is not abbreviated.
        #expect(ShortText.text(of: Array(text.utf8)) == text)
    }

    @Test("a script expands abbreviated text exactly as the program does")
    func scriptArguments() async throws {
        let script = RedisScript(
            source: "#!lua\nreturn (string.gsub(ARGV[1], '%c', \(ShortText.luaTable)))"
        )
        try await withRedis { client in
            for text in Self.texts {
                let short = try #require(ShortText.bytes(of: text))
                let read = try await client.eval(script, keys: ["k"], arguments: [.bytes(short)])
                #expect(read.string == text)
            }
        }
    }

    @Test("text that is long or contains a fragment's byte is not abbreviated")
    func long() {
        #expect(ShortText.bytes(of: "a\u{1}b") == nil)
        let text = "https://shop.example/" + String(repeating: "x", count: 60)
        #expect(ShortText.argument(text) == .string(text))
        #expect(
            ShortText.argument("mailto:a@b.example")
                == .bytes([ShortText.mark, 6] + Array("a@b.example".utf8))
        )
    }

    /// A change of the table could not read existing stores.
    @Test("the meaning of a fragment's byte never changes")
    func pinned() {
        let table = ShortText.fragments.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        #expect(
            table == [
                "1 https://", "2 https://www.", "3 https://api.", "4 https://shop.", "5 http://",
                "6 mailto:", "7 redis+stream:", "8 .com/", "11 .com", "12 /api/", "14 /payments",
                "15 /webhooks", "16 /webhook", "17 /hooks/", "18 /stripe", #"19 {""#, #"20 ":""#,
                #"21 ",""#, #"22 "}"#, #"23 {"order":""#, #"24 ","order":""#, #"25 {"order_id":""#,
                #"26 {"customer":""#, #"27 ","customer":""#, #"28 ","email":""#,
                #"29 ","name":""#, #"30 _id":""#, #"31 @gmail.com"}"#,
            ]
        )
    }
}
