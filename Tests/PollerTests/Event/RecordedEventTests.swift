import JSONText
import PollerTesting
import Testing

@testable import PollerWire

/// The reader of recorded events, compared with the table of fields, which defines them.
@Suite("Recorded event")
struct RecordedEventTests {
    /// An event with every member.
    private static let whole = #"""
        {"id":"evt_1","type":"source.consumed","account":"default","source":"src_1","kind":"source",\#
        "order":"A\u00e9\"77","seq":5,"run":1,"previous_status":"chargeable","status":"consumed",\#
        "final":true,"closed_reason":"settled","charge":{"state":"pending","id":"ch_1"},\#
        "payment":{"state":"paid","amount":1099,"amount_received":1099,"currency":"eur",\#
        "method":"ideal","paid_at":"2026-11-24T11:24:44.000Z"},"previous_amount_returned":300,\#
        "next_step":{"type":"transfer"},\#
        "livemode":false,"object":{"id":"src_1","amount":-1.5e3,"owner":{"a":[null,{}]},"n":"Zoë"},\#
        "observed":{"polled_at":"2026-11-24T11:24:45.639Z","lag_ms":3},\#
        "traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",\#
        "metadata":{"order":"A77"}}
        """#
    /// The shortest event.
    private static let short = #"""
        {"id":"evt_1","type":"t","account":"a","source":"s","kind":"k","seq":0,"run":0,\#
        "final":false,"observed":{"polled_at":"2026-11-24T11:24:45.639Z"}}
        """#

    private func table(_ bytes: [UInt8]) -> Event? {
        RawJSON(bytes).flatMap { try? Event(reading: $0) }
    }

    @Test("events in their usual form are read in one pass", arguments: [short, whole])
    func usual(_ json: String) throws {
        let bytes = Array(json.utf8)
        let event = try #require(Event.usual(bytes))
        #expect(event == table(bytes))
        #expect(event.json == (try #require(table(bytes))).json)
    }

    @Test(
        "unusual events are read, or rejected, as the table of fields does",
        arguments: [
            (#""seq":5"#, #""seq":-5"#), (#""seq":5"#, #""seq":05"#), (#""seq":5"#, #""seq":5.0"#),
            (#""seq":5"#, #""seq":5e0"#), (#""seq":5"#, #""seq":9007199254740991"#),
            (#""seq":5"#, #""seq":9007199254740992"#), (#""seq":5"#, #""seq":"5""#),
            (#""seq":5"#, #""seq":null"#), (#""seq":5"#, #""seq":5,"seq":6"#),
            (#""seq":5"#, #""s\u0065q":5"#), (#""seq":5,"#, ""),
            (#""seq":5"#, #""seq":5,"new":[1]"#),
            (#""final":true"#, #""final":"true""#), (#""final":true"#, #""final":tru"#),
            (#""final":true"#, #""final":null"#), (#""livemode":false"#, #""livemode":null"#),
            (#""order":"A"#, #""order":"\ud800A"#), (#""kind":"source""#, #""kind":"other""#),
            (#""lag_ms":3"#, #""lag_ms":null"#), (#""lag_ms":3"#, #""lag_ms":-3"#),
            (#""lag_ms":3"#, #""lag_ms":3,"x":1"#), (#""lag_ms":3"#, #""lag_ms":3,"lag_ms":4"#),
            ("11-24T11:24:45", "02-29T11:24:45"), ("45.639Z", "60.639Z"),
            (#""observed":{"#, #""observed":[],"o":{"#), (#""charge":{"#, #""charge":[],"o":{"#),
            (#"returned":300"#, #"returned":-3"#), (#"returned":300"#, #"returned":null"#),
            (#""amount":1099"#, #""amount":"x""#), (#""next_step":{"#, #""next_step":null,"o":{"#),
            (#""metadata":{"order":"A77"}"#, #""metadata":{"order":1}"#),
            (#""metadata":{"order":"A77"}"#, #""metadata":null"#),
            (#""object":{"#, #""object":null,"o":{"#), ("}}", "}} "), ("}}", "}}}"),
            ("{\"id\"", " { \"id\""),
        ]
    )
    func unusual(_ part: String, _ other: String) {
        let bytes = Array(Self.whole.replacing(part, with: other).utf8)
        #expect(Event.recorded(bytes) == table(bytes))
        if let event = Event.usual(bytes) { #expect(event == table(bytes)) }
    }

    @Test("damaged events are read, or rejected, as the table of fields does", arguments: 0..<40)
    func damaged(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array(#"{}[]":,\ nulltrue0123456789-eE.u"#.utf8) + [0xC3, 0x80, 0x0A]
        for _ in 0..<200 {
            var bytes = Array((Bool.random(using: &generator) ? Self.whole : Self.short).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let at = Int.random(in: 0..<bytes.count, using: &generator)
                let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[at] = byte
                case 1: bytes.insert(byte, at: at)
                default: bytes.remove(at: at)
                }
            }
            let expected = table(bytes)
            #expect(Event.recorded(bytes) == expected, "\(generator)")
            if let event = Event.usual(bytes) { #expect(event == expected, "\(generator)") }
        }
    }

    @Test("values nested too deep are rejected, as the table of fields does")
    func depth() {
        for depth in [100, 509, 510, 511, 512, 600] {
            let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let bytes = Array(Self.whole.replacing(#"{"id":"src_1""#, with: "{\"x\":\(value)").utf8)
            #expect((Event.usual(bytes) == nil) == (table(bytes) == nil), "\(depth)")
        }
    }

    @Test("only a time that exists is read", arguments: 0..<10)
    func times(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999
            let time = Time(ms: Int64.random(in: range, using: &generator))
            var text = Array(time.description.utf8)
            #expect(Time(time.description) == time, "\(generator)")
            let at = Int.random(in: text.indices, using: &generator)
            text[at] = UInt8.random(in: 0x2B...0x3A, using: &generator)
            let changed = String(decoding: text, as: UTF8.self)
            // A time is read only from its own text.
            if let read = Time(changed) { #expect(read.description == changed, "\(generator)") }
        }
        for (year, days) in [(1900, 28), (2000, 29), (2024, 29), (2026, 28), (2100, 28)] {
            let last = "\(year)-02-\(days)T00:00:00.000Z"
            #expect(Time(last)?.description == last)
            #expect(Time("\(year)-02-\(days + 1)T00:00:00.000Z") == nil)
        }
    }
}
