import PollerDeliveries
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerChannels

@Suite(
    "Refusals of a relay",
    .enabled(
        if: PythonPeer.has("aiosmtpd"),
        "needs the PyPI package aiosmtpd (see Tests/Peers/requirements.txt)"
    )
)
struct RelayRefusalTests {
    private let sink: PythonPeer

    init() throws {
        sink = try PythonPeer("smtp_sink.py")
    }

    private func channel(
        suppressions: (any SuppressionList)? = nil,
        relayFailures: (any RelayFailureStore)? = nil,
        time: VirtualTime = VirtualTime()
    ) async throws -> EmailChannel {
        EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:\(try await sink.port())"),
            sender: try MailSender("pay@shop.example"),
            suppressions: suppressions,
            relayFailures: relayFailures,
            wallClock: { time.now }
        )
    }

    @Test("a mailbox missing on two days is suppressed, for the shop that wrote to it")
    func missing() async throws {
        let (list, time) = (MemorySuppressionList(), VirtualTime())
        let channel = try await channel(suppressions: list, time: time)
        func deliver(of account: AccountID = .main) async throws -> AttemptResult {
            let url = try NotifyURL("mailto:permfail@example.org")
            return await channel.deliver(Samples.event(account: account), to: url, attempt: 1)
        }
        for _ in 0..<3 {
            let bounced = try await deliver()
            #expect(bounced.outcome == .rejected && bounced.excerpt.contains("no such mailbox"))
            time.advance(by: .seconds(7 * 3600))
        }
        time.advance(by: .seconds(3 * 3600))
        #expect(try await deliver().outcome == .rejected, "this one is the second day")
        let skipped = try await deliver()
        #expect(skipped.outcome == .skipped && skipped.reason.contains("hard_bounce"))
        #expect(try await deliver(of: AccountID("acct_1")).outcome == .rejected, "another shop")
        await channel.close()
    }

    @Test("a missing mailbox is recognised, also if the relay rejects the QUIT after its answer")
    func curt() async throws {
        let channel = try await channel()
        let url = try NotifyURL("mailto:curt@example.org")
        let result = await channel.deliver(Samples.event(), to: url, attempt: 1)
        #expect(result.outcome == .rejected && result.code == 550)
        #expect(result.excerpt == "550 5.1.1 no such mailbox")
        await channel.close()
    }

    @Test("an accepted email in between resets the evidence")
    func found() async throws {
        let (list, time) = (MemorySuppressionList(), VirtualTime())
        let channel = try await channel(suppressions: list, time: time)
        let fine = try MailAddress("fine@example.org")
        let entry = SuppressionEntry(fine, of: .main)
        #expect(try await list.noteRefusal(entry, at: time.now) == time.now)
        time.advance(by: .seconds(86_400))
        let url = try NotifyURL("mailto:fine@example.org")
        #expect(
            await channel.deliver(Samples.event(), to: url, attempt: 1).outcome == .delivered
        )
        #expect(try await list.noteRefusal(entry, at: time.now) == time.now, "the first again")
        await channel.close()
    }

    @Test(
        "a refusal for the relay's own reason is retried, suppresses no one and is relay trouble",
        arguments: [
            "policy", "greylisted", "hourly", "listed", "nameless", "quota", "plain", "datafail",
        ]
    )
    func refused(local: String) async throws {
        let (list, troubles, time) = (MemorySuppressionList(), MemoryRelayFailures(), VirtualTime())
        let channel = try await channel(suppressions: list, relayFailures: troubles, time: time)
        let url = try NotifyURL("mailto:\(local)@example.org")
        for day in 0..<3 {
            let result = await channel.deliver(Samples.event(), to: url, attempt: 1)
            #expect(result.outcome == .failed && result.kind == .refused, "day \(day)")
            #expect((550...554).contains(result.code ?? 0))
            time.advance(by: .seconds(86_400))
        }
        time.step(by: .seconds(-86_400))
        let trouble = try #require(try await troubles.relayFailures())
        #expect(trouble.needsAttention(at: time.now) && trouble.answer.hasPrefix("55"))
        #expect(!trouble.answer.contains("\(local)@"))
        // The trouble ends some time after accepted mails, because others may still be refused.
        let fine = try NotifyURL("mailto:fine@example.org")
        time.advance(by: .seconds(1))
        #expect(await channel.deliver(Samples.event(), to: fine, attempt: 1).outcome == .delivered)
        #expect(try await troubles.relayFailures()?.needsAttention(at: time.now) == true)
        time.advance(by: .seconds(2 * 3600))
        #expect(try await troubles.relayFailures()?.needsAttention(at: time.now) == false)
        await channel.close()
    }

    @Test(
        "4xx and a missing mailbox are no relay trouble, and the connection survives both"
    )
    func refusals() async throws {
        let troubles = MemoryRelayFailures()
        let channel = try await channel(relayFailures: troubles)
        func deliver(_ local: String) async throws -> AttemptResult {
            let url = try NotifyURL("mailto:\(local)@example.org")
            return await channel.deliver(Samples.event(), to: url, attempt: 1)
        }
        let later = try await deliver("tempfail")
        #expect(later.outcome == .failed && later.kind == .deferred && later.code == 451)
        let never = try await deliver("permfail")
        #expect(never.outcome == .rejected && never.kind == .refused && never.code == 550)
        #expect(try await deliver("fine").outcome == .delivered)
        #expect(try await troubles.relayFailures() == nil)
        await channel.close()
    }

    @Test(
        "a relay that accepts one email per connection gets each one once, over a new connection"
    )
    func oneMailEach() async throws {
        let strict = try PythonPeer("smtp_sink.py", ["--mails-per-connection", "1"])
        let channel = EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:\(try await strict.port())"),
            sender: try MailSender("pay@shop.example"),
            wallClock: { VirtualTime.start }
        )
        let url = try NotifyURL("mailto:a@example.org")
        for _ in 0..<20 {
            let result = await channel.deliver(Samples.event(), to: url, attempt: 1)
            #expect(result.outcome == .delivered, "\(result.reason)")
        }
        try await eventually("20 mails") { strict.lines.count { $0["raw"] != nil } == 20 }
        #expect(Set(strict.lines.compactMap { $0["peer_port"]?.int }).count == 20)
        await channel.close()
    }

    @Test("a relay that greets only after 12 s is still used")
    func lateGreeting() async throws {
        let slow = try PythonPeer("smtp_sink.py", ["--greet-after", "12"])
        let channel = EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:\(try await slow.port())"),
            sender: try MailSender("pay@shop.example"),
            wallClock: { VirtualTime.start }
        )
        let url = try NotifyURL("mailto:a@example.org")
        let result = await channel.deliver(Samples.event(), to: url, attempt: 1)
        #expect(result.outcome == .delivered, "\(result.reason)")
        await channel.close()
    }
}
