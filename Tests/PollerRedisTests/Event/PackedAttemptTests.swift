import PollerDeliveries
import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@testable import PollerRedis

@Suite("Attempts in the log of their delivery")
struct PackedAttemptTests {
    private static let id = "evt_" + Base64URL.encode(0..<18)
    private static let digest = Base64URL.encode(250...255)
    /// Addresses, of which only the first two are in the form that is stored as numbers.
    private static let addresses: [String?] = [
        "192.0.2.1:443", "255.255.255.255:65535", "[2001:db8::1]:443", "192.0.2.1",
        "192.0.2.01:443", "192.0.2.0:80", "0.0.0.0:0", "192.0.2.256:1", "192.0.2.1:",
        "192.0.2.1:+80", "192.0.2.1:65536", "1.2.3.4.5", "mail.shop.example:25",
        "[::]:1", nil,
    ]

    private func attempt(
        id: String = id,
        _ result: AttemptResult,
        at ms: Int64 = 1_795_941_600_123,
        seq: Int = 3
    ) -> AttemptRecord {
        var record = AttemptRecord(
            at: Timestamp(ms: ms),
            event: EventID(unchecked: id),
            seq: seq,
            number: 2,
            outcome: result.outcome,
            kind: result.kind,
            code: result.code,
            address: result.address,
            phases: result.phases,
            reason: result.reason,
            excerpt: result.excerpt
        )
        record.digest = result.digest
        return record
    }

    @Test("an attempt with any address is read as it was written", arguments: addresses)
    func anyAddress(_ address: String?) {
        var result = AttemptResult.delivered
        result.code = 200
        result.address = address
        result.digest = Self.digest
        result.phases = AttemptPhases(connectMs: 0, firstByteMs: 127, totalMs: 30_000)
        let written = attempt(result)
        #expect(PackedAttempt.attempt(PackedAttempt.bytes(of: written)) == written)
    }

    @Test(
        "an attempt with any text is read as it was written",
        arguments: ["", "503 | later", "a\nb|c\u{0}", String(repeating: "ä", count: 512)]
    )
    func anyText(_ text: String) {
        for kind in AttemptClass.allCases {
            var failure = AttemptResult.failed("", kind, code: 599)
            failure.excerpt = text
            for result in [
                failure, .rejected(text, kind), .skipped(text), .delivered(despite: text),
            ] {
                let written = attempt(result, at: 0, seq: 1 << 40)
                #expect(PackedAttempt.attempt(PackedAttempt.bytes(of: written)) == written)
            }
        }
    }

    @Test(
        "IDs and digests of another form are kept, too",
        arguments: ["evt_1", "evt_test_" + Base64URL.encode(0..<12), id + "A"]
    )
    func anyName(_ name: String) {
        var result = AttemptResult.delivered
        result.digest = name
        let written = attempt(id: name, result)
        #expect(PackedAttempt.attempt(PackedAttempt.bytes(of: written)) == written)
    }

    @Test("five successes take less than a list of 320 bytes")
    func sizeOfList() {
        var result = AttemptResult.delivered
        result.code = 200
        result.address = "192.0.2.1:443"
        result.digest = Self.digest
        result.phases = AttemptPhases(resolveMs: 0, connectMs: 0, firstByteMs: 180, totalMs: 181)
        // A list of Redis has 7 bytes, and 2 for each short entry.
        #expect(7 + 5 * (PackedAttempt.bytes(of: attempt(result)).count + 2) <= 320)
    }

    @Test("an entry that is cut off, or of another type, is no attempt")
    func damage() {
        var result = AttemptResult.failed("reset", .reset)
        result.excerpt = "text"
        let whole = PackedAttempt.bytes(of: attempt(result))
        for count in 0..<whole.count {
            #expect(PackedAttempt.attempt(Array(whole.prefix(count))) == nil)
        }
        #expect(PackedAttempt.attempt(Array("1795942769173|1|1|d|ok|200".utf8)) == nil)
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0xFF
            _ = PackedAttempt.attempt(damaged)
        }
    }
}
