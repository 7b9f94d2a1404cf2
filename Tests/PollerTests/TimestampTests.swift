import Foundation
import Poller
import PollerTesting
import Testing

@Suite("Timestamp")
struct TimestampTests {
    @Test("is written as RFC 3339 in UTC with milliseconds")
    func format() {
        #expect(Timestamp(ms: 0).description == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp(ms: -1).description == "1969-12-31T23:59:59.999Z")
        #expect(Timestamp(ms: 951_782_400_000).description == "2000-02-29T00:00:00.000Z")
        #expect(VirtualTime.start.description == "2026-11-20T09:00:00.000Z")
    }

    @Test("agrees with Foundation and reads back what it wrote", arguments: 0..<10)
    func roundTrip(_ seed: Int) throws {
        var chance = SeededGenerator(seed: UInt64(seed))
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for _ in 0..<500 {
            let time = Timestamp(ms: Int64.random(in: 0...253_402_300_799_999, using: &chance))
            #expect(Timestamp(rfc3339: time.description) == time, "\(chance) \(time.ms)")
            let seconds = time.ms / 1000
            let date = Date(timeIntervalSince1970: Double(seconds))
            #expect(date.formatted(style).prefix(19) == time.description.prefix(19))
        }
    }

    @Test(
        "reads nothing else",
        arguments: [
            "", "2026-11-20T09:30:00Z", "2026-11-20T09:30:00.125+00:00",
            "2026-11-20 09:30:00.125Z", "2026-13-20T09:30:00.125Z", "2026-02-30T09:30:00.125Z",
            "2026-11-20T24:30:00.125Z", "2026-11-20T09:60:00.125Z", "2026-11-20T09:30:61.125Z",
            "+026-11-20T09:30:00.125Z", "2026-11-20T09:30:00.-25Z", "2026-11-20T09:30:00.125Z ",
            "２026-11-20T09:30:00.1Z",
        ]
    )
    func rejects(_ text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test("spans add and subtract in whole milliseconds")
    func arithmetic() {
        let time = Timestamp(ms: 1000)
        #expect(time + .milliseconds(-1500) == Timestamp(ms: -500))
        #expect(time + .microseconds(1999) == Timestamp(ms: 1001))
        #expect(Timestamp(ms: 250) - time == .milliseconds(-750))
        #expect(Timestamp(ms: 250) < time)
    }
}
