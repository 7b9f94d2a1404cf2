import Foundation
import JSONText
import Testing

@testable import StripeAPI

/// JSON of Stripe, parsed once in time linear in its size.
@Suite struct StripeJSONTests {
    private static let secret = "whsec_1"

    private func value(
        _ text: String,
        _ bounds: JSONBounds = .standard
    ) throws(JSONError)
        -> JSONValue
    {
        try StripeJSON.value(text.utf8, bounds: bounds)
    }

    private func foundation(_ text: String) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    /// Shapes chosen by a sender, each filling the given number of bytes.
    private static let shapes: [(name: String, fill: @Sendable (Int) -> String)] = [
        ("nested arrays", { list(of: nested("[", "]", 58), $0) }),
        ("nested objects", { list(of: nested(#"{"a":"#, "}", 58, inside: "1"), $0) }),
        ("empty objects", { list(of: "{}", $0) }),
        ("members", { list(of: #"{"a":1,"b":"c","d":null}"#, $0) }),
        ("numbers", { list(of: "-1.5e7", $0) }),
        ("a long string", { "\"" + String(repeating: "x", count: $0) + "\"" }),
        ("escapes", { "\"" + String(repeating: #"\ud83d\ude00"#, count: $0 / 12) + "\"" }),
    ]

    private static func nested(
        _ open: String,
        _ close: String,
        _ depth: Int,
        inside: String = ""
    ) -> String {
        String(repeating: open, count: depth) + inside + String(repeating: close, count: depth)
    }

    private static func list(of item: String, _ bytes: Int) -> String {
        let count = max(bytes / (item.utf8.count + 1), 1)
        return "[" + Array(repeating: item, count: count).joined(separator: ",") + "]"
    }

    private static func event(_ fill: String) -> String {
        #"{"id":"evt_1","type":"source.chargeable","livemode":false,"#
            + #""data":{"object":{"id":"src_1","fill":\#(fill)}}}"#
    }

    @Test(
        "decoding an event takes as many steps as it has values, in every shape",
        arguments: shapes.indices,
        [1_000, 10_000, 100_000, 250_000]
    )
    func steps(shape: Int, bytes: Int) throws {
        let body = Array(Self.event(Self.shapes[shape].fill(bytes)).utf8)
        var reader = JSONReader(body, bounds: .standard)
        let tree = try reader.read()
        // A value takes at least two bytes, including a comma.
        #expect(reader.values <= body.count / 2 + 1, "\(Self.shapes[shape].name)")
        let meter = JSONTreeDecoder.Meter()
        let event = try StripeEvent(from: JSONTreeDecoder(tree, meter: meter))
        #expect(event.objectID == "src_1")
        // Only the typed fields: the complete JSON is not visited again.
        #expect(meter.visits <= 16, "\(Self.shapes[shape].name): \(meter.visits)")
    }

    @Test("every recorded object is decoded as by JSONDecoder")
    func fixtures() throws {
        for file in ["resources", "resources_2022", "source_examples"] {
            let data = try Fixture.data(file)
            let expected = try JSONDecoder().decode(JSONValue.self, from: data)
            #expect(try StripeJSON.value(data) == expected, "\(file)")
        }
    }

    @Test("generated JSON is decoded as by JSONDecoder")
    func generated() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = Seeded(state: seed)
        for _ in 0..<300 {
            let text = Self.text(&random)
            #expect(try value(text) == foundation(text), "seed \(seed): \(text)")
        }
    }

    @Test("modified JSON is rejected, or decoded as by JSONDecoder")
    func changed() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = Seeded(state: seed)
        let alphabet = Array(#"{}[]",:0123456789.eE+-truefalsn\ "#.utf8)
        for _ in 0..<2000 {
            var bytes = Array(Self.text(isSmall: true, &random).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: bytes.indices, using: &random)
                bytes[place] = alphabet.randomElement(using: &random) ?? 0
            }
            // JSONDecoder accepts more: a trailing comma, and any value of a duplicate member.
            guard let own = try? StripeJSON.value(bytes) else { continue }
            let other = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
            let text = String(decoding: bytes, as: UTF8.self)
            // JSONDecoder decodes a number below the smallest `Double` as the whole number zero.
            guard !text.contains("e-"), !text.contains("E-") else { continue }
            #expect(own == other, "seed \(seed): \(text)")
        }
    }

    @Test(
        "whole numbers of 64 bits are integers, all others are doubles",
        arguments: [
            ("0", .integer(0)), ("-0", .integer(0)), ("1.0", .integer(1)), ("1e3", .integer(1000)),
            ("-0.0", .integer(0)), ("0e999", .integer(0)), ("-12.50e1", .integer(-125)),
            ("1200e-2", .integer(12)), ("123e-2", .number(1.23)),
            ("1e18", .integer(1_000_000_000_000_000_000)),
            ("9007199254740993.0", .integer(9_007_199_254_740_993)),
            ("9223372036854775807.0", .integer(.max)),
            ("63187012929919506.8", .number(63_187_012_929_919_506.8)),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9007199254740993", .integer(9_007_199_254_740_993)),
            ("9223372036854775808", .number(9_223_372_036_854_775_808)), ("0.5", .number(0.5)),
            ("1e308", .number(1e308)), ("99999999999999999999", .number(1e20)),
        ] as [(String, JSONValue)]
    )
    func numbers(text: String, expected: JSONValue) throws {
        #expect(try value(text) == expected)
        #expect(try value("[\(text)]") == .array([expected]))
    }

    @Test(
        "a number out of range or with invalid syntax is an error",
        arguments: [
            "1e400", "-1e400", "NaN", "Infinity", "-", "01", "1.", ".5", "+1", "0x1", "1e",
            String(repeating: "1", count: 129),
        ]
    )
    func invalidNumbers(text: String) {
        #expect(throws: JSONError.self) { try value(text) }
        #expect(throws: JSONError.self) { try value(#"{"a":[\#(text)]}"#) }
    }

    @Test(
        "an unpaired surrogate becomes U+FFFD",
        arguments: [
            (#""a\ud83db""#, "a\u{FFFD}b"), (#""\ude00""#, "\u{FFFD}"),
            (#""\ud83d\ud83d\ude00""#, "\u{FFFD}\u{1F600}"), (#""\ud83d\n""#, "\u{FFFD}\n"),
            (#""\ud83d\ude00""#, "\u{1F600}"), (#""\ud83d""#, "\u{FFFD}"),
        ]
    )
    func surrogates(text: String, expected: String) throws {
        #expect(try value(text) == .string(expected))
        #expect(try value("{\(text):1}") == .object([expected: 1]))
    }

    @Test("invalid UTF-8 is an error")
    func notUTF8() {
        #expect(throws: JSONError.self) { try StripeJSON.value([0x22, 0xFF, 0x22]) }
        #expect(throws: JSONError.self) { try StripeJSON.value([0x22, 0xC3, 0x5C, 0x6E, 0x22]) }
    }

    @Test("the first of duplicate members counts, for a field and for the whole object")
    func duplicates() throws {
        let body =
            #"{"id":"src_1","id":"src_2","type":"ideal","status":"pending","livemode":false}"#
        let source = try StripeJSON.decode(Source.self, from: body.utf8)
        #expect(source.id == "src_1")
        #expect(source.allResponseFields["id"] == "src_1")
    }

    @Test("depth, values, string length and bytes are limited")
    func bounds() throws {
        let small = JSONBounds(depthMax: 3, valuesMax: 4, stringBytesMax: 5, bytesMax: 40)
        for fits in ["[[1]]", "[1,2,3]", #""12345""#, #"{"12345":1}"#] {
            _ = try value(fits, small)
        }
        for (text, message) in [
            ("[[[1]]]", "nested deeper than 3"), ("[1,2,3,4]", "more than 4 values"),
            (#""123456""#, "longer than 5 bytes"), (#"{"123456":1}"#, "longer than 5 bytes"),
            (String(repeating: " ", count: 40) + "1", "longer than 40 bytes"),
        ] {
            let error = #expect(throws: JSONError.self) { try value(text, small) }
            #expect(error?.message.contains(message) ?? false, "\(text): \(error as Any)")
        }
        _ = try value(Self.nested("[", "]", 64))
        #expect(throws: JSONError.self) { try value(Self.nested("[", "]", 65)) }
    }

    @Test("a deeply nested signed event is malformed, one with an unpaired surrogate is valid")
    func events() throws {
        func construct(_ fill: String) throws(WebhookError) -> StripeEvent {
            let body = Data(Self.event(fill).utf8)
            return try WebhookSignature.constructEvent(
                payload: body,
                header: WebhookSignature.header(
                    payload: body,
                    secret: Self.secret,
                    timestamp: 1
                ),
                secrets: [Self.secret],
                now: 1
            )
        }
        for depth in [400, 100_000] {
            let error = #expect(throws: WebhookError.self) {
                try construct(Self.nested("[", "]", depth))
            }
            #expect("\(error as Any)".contains("nested deeper than 64"))
        }
        let event = try construct(#""name \ud83d""#)
        #expect(event.data.object["fill"] == "name \u{FFFD}")
    }

    @Test("another decoder has the same depth limit")
    func otherDecoder() throws {
        #expect(try foundation(Self.nested("[", "]", 64)) == value(Self.nested("[", "]", 64)))
        #expect(throws: DecodingError.self) { try foundation(Self.nested("[", "]", 65)) }
        #expect(throws: DecodingError.self) { try foundation(Self.nested("[", "]", 400)) }
    }

    @Test("a caller's types decode as with JSONDecoder")
    func callerTypes() throws {
        let text = """
            {"small":-128,"large":18446744073709551,"ratio":2,"maybe":null,"list":[1,null,3],
             "names":{"a":"b"},"grid":[[1],[2,3]],"url":"https://x.example/a?b","data":"AQI=",
             "word":"one","flags":[true,false]}
            """
        let own = try StripeJSON.decode(Everything.self, from: text.utf8)
        #expect(own == (try JSONDecoder().decode(Everything.self, from: Data(text.utf8))))
    }

    @Test(
        "a mismatch in a caller's type is an error that names the path",
        arguments: [
            (#"{"small":128}"#, "small"), (#"{"small":"x"}"#, "small"),
            (#"{"small":1.5}"#, "small"),
            (#"{"small":1,"list":[1,"x"]}"#, "list.Index 1"),
            (#"{"small":1,"word":"two"}"#, "word"),
            (#"{"small":1,"grid":[[1],2]}"#, "grid.Index 1"), (#"{"list":[]}"#, "small"),
        ]
    )
    func callerTypeErrors(text: String, place: String) throws {
        let response = StripeResponse(
            status: 200,
            headers: StripeHeaders(contentType: "application/json"),
            body: Data(text.utf8)
        )
        let error = #expect(throws: StripeError.self) { try response.decode(Everything.self) }
        guard case .malformed(let body) = error else { return fail("\(error as Any)") }
        #expect(body.field == place)
    }

    private struct Everything: Decodable, Equatable {
        enum Word: String, Decodable { case one }

        let small: Int8
        let large: UInt64?
        let ratio: Float?
        let maybe: Int?
        let list: [Int?]?
        let names: [String: String]?
        let grid: [[Int]]?
        let url: URL?
        let data: Data?
        let word: Word?
        let flags: [Bool]?
    }

    /// Generates JSON whose member names are unique in each object.
    ///
    /// `isSmall` omits surrogate pairs, which a modification may split, and numbers so long that JSONDecoder decodes
    /// one with a fraction as a whole number.
    private static func text(
        depth: Int = 0,
        isSmall: Bool = false,
        _ random: inout Seeded
    ) -> String {
        func inner(_ random: inout Seeded) -> String {
            text(depth: depth + 1, isSmall: isSmall, &random)
        }
        switch Int.random(in: 0..<(depth < 5 ? 8 : 6), using: &random) {
        case 0: return "null"
        case 1: return Bool.random(using: &random) ? "true" : "false"
        case 2:
            let most = isSmall ? Int64(Int32.max) : .max
            return String(Int64.random(in: -most...most, using: &random))
        case 3:
            let number = Double.random(in: -1e6...1e6, using: &random)
            return String(isSmall ? (number * 100).rounded() / 100 : number)
        case 4: return #""\u00e9\n\" \/ é 😀 \#(isSmall ? "" : #"\ud83d\ude00"#)""#
        case 5: return "\"\(UInt32.random(in: .min ... .max, using: &random))\""
        case 6:
            let items = (0..<Int.random(in: 0..<5, using: &random)).map { _ in inner(&random) }
            return "[ " + items.joined(separator: " ,\n") + "]"
        default:
            let members = (0..<Int.random(in: 0..<5, using: &random)).map { number in
                "\"m\(number)\" : " + inner(&random)
            }
            return "{" + members.joined(separator: ",\t") + " }"
        }
    }

    /// SplitMix64: the same sequence for the same seed.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }
}
