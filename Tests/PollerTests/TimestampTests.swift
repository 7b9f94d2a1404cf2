import Foundation
import PollerIdentity
import PollerTesting
import Testing

@Suite("Timestamp")
struct TimestampTests {
    @Test("a timestamp is written as RFC 3339 in UTC with milliseconds")
    func format() {
        #expect(Timestamp(ms: 0).description == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp(ms: -1).description == "1969-12-31T23:59:59.999Z")
        #expect(Timestamp(ms: 951_782_400_000).description == "2000-02-29T00:00:00.000Z")
        #expect(VirtualTime.start.description == "2026-11-20T09:00:00.000Z")
    }

    @Test("formatted text agrees with Foundation and is read back", arguments: 0..<10)
    func roundTrip(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for _ in 0..<500 {
            let time = Timestamp(ms: Int64.random(in: 0...253_402_300_799_999, using: &generator))
            #expect(Timestamp(rfc3339: time.description) == time, "\(generator) \(time.ms)")
            let seconds = time.ms / 1000
            let date = Date(timeIntervalSince1970: Double(seconds))
            #expect(date.formatted(style).prefix(19) == time.description.prefix(19))
        }
    }

    @Test(
        "other text is rejected",
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

    @Test("durations are added and subtracted in whole milliseconds")
    func arithmetic() {
        let time = Timestamp(ms: 1000)
        #expect(time + .milliseconds(-1500) == Timestamp(ms: -500))
        #expect(time + .microseconds(1999) == Timestamp(ms: 1001))
        #expect(Timestamp(ms: 250) - time == .milliseconds(-750))
        #expect(Timestamp(ms: 250) < time)
    }

    @Test("an instant outside the years 0001 to 9999 is clamped to them")
    func limits() {
        #expect(Timestamp(ms: .max).description == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp(ms: .min).description == "0001-01-01T00:00:00.000Z")
        for limit in [Timestamp.earliest, .latest] {
            #expect(Timestamp(rfc3339: limit.description) == limit)
        }
        #expect(Timestamp(rfc3339: "0000-12-31T23:59:59.999Z") == nil)
    }

    @Test("arithmetic with instants and durations saturates at the limits")
    func saturates() {
        let longest = Duration(secondsComponent: .max, attosecondsComponent: 0)
        let shortest = Duration(secondsComponent: .min, attosecondsComponent: 0)
        #expect(longest.ms == .max && shortest.ms == .min)
        #expect(Timestamp.latest + longest == .latest && Timestamp.earliest + shortest == .earliest)
        #expect(Timestamp(ms: 0) + longest == .latest)
        #expect((Timestamp.latest - .earliest).ms == 315_537_897_599_999)
    }

    @Test("Unix seconds outside the limits are rejected")
    func unixSeconds() {
        #expect(Timestamp(unixSeconds: 0) == Timestamp(ms: 0))
        #expect(Timestamp(unixSeconds: 253_402_300_799)?.ms == 253_402_300_799_000)
        for beyond in [Int.max, .min, 253_402_300_800, -62_135_596_801] {
            #expect(Timestamp(unixSeconds: beyond) == nil)
        }
    }
}

@Suite("Duration as text")
struct DurationTextTests {
    @Test(
        "text with a unit is read",
        arguments: [
            ("250ms", 250), ("0s", 0), ("90s", 90_000), ("5m", 300_000), ("36h", 129_600_000),
            ("30d", 2_592_000_000), ("007s", 7000),
        ]
    )
    func reads(_ text: String, _ ms: Int64) {
        #expect(Duration(text: text) == .milliseconds(ms))
    }

    @Test(
        "other text is rejected",
        arguments: [
            "", "s", "ms", "5", "-5s", "+5s", "5 s", " 5s", "5s ", "1.5s", "5S", "5m5s", "٣s",
            "5w", "9223372036854775807d", "99999999999999999999s", "36525d", "0x5s", "5\u{0}s",
        ]
    )
    func rejects(_ text: String) {
        #expect(Duration(text: text) == nil)
    }

    @Test("a duration is written in the largest unit that divides it")
    func writes() {
        let wanted: [(Int64, String)] = [
            (0, "0ms"), (250, "250ms"), (90_000, "90s"), (300_000, "5m"), (129_600_000, "36h"),
            (86_400_000, "1d"), (1001, "1001ms"),
        ]
        for (ms, text) in wanted { #expect(Duration.milliseconds(ms).text == text) }
    }

    @Test("a written duration is read back")
    func roundTrip() {
        var generator = SeededGenerator(seed: 31)
        for _ in 0..<1000 {
            let span = Duration.milliseconds(
                Int64.random(in: 0..<3_155_760_000_000, using: &generator)
            )
            #expect(Duration(text: span.text) == span)
        }
    }

    @Test("milliseconds are truncated toward zero")
    func ms() {
        #expect(Duration.microseconds(1999).ms == 1)
        #expect(Duration.microseconds(-1999).ms == -1)
        #expect(Duration.milliseconds(1500).inSeconds == 1.5)
    }
}
