import Logging
import PollerIdentity
import PollerPayments
import PollerTesting
import Testing

@testable import PollerChannels
@testable import PollerDeliveries

@Suite(
    "The sender of a shop's emails",
    .enabled(
        if: PythonPeer.has("aiosmtpd"),
        "needs the PyPI package aiosmtpd (see Tests/Peers/requirements.txt)"
    )
)
struct SenderCheckTests {
    private let sink: PythonPeer

    init() throws {
        sink = try PythonPeer("smtp_sink.py")
    }

    @Test("a shop with a sender address sends from it, also in the SMTP envelope")
    func own() async throws {
        let (mine, named) = (try AccountID("acct_1"), try AccountID("acct_2"))
        let shops = [
            mine: try Branding(name: "Shop", mailFrom: "payments@own.example"),
            named: try Branding(name: "Shop", mailFrom: "Shop Billing <billing@own.example>"),
        ]
        let channel = EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:\(try await sink.port())"),
            sender: try MailSender("Poller <pay@shop.example>"),
            branding: { shops },
            wallClock: { VirtualTime.start }
        )
        let url = try NotifyURL("mailto:kunde@example.org")
        for account in [mine, named, .main] {
            let event = Samples.event(account: account)
            #expect(await channel.deliver(event, to: url, attempt: 1).outcome == .delivered)
        }
        try await eventually("three mails") { sink.lines.count { $0["raw"] != nil } == 3 }
        let mails = sink.lines.filter { $0["raw"] != nil }
        let senders = ["payments@own.example", "billing@own.example", "pay@shop.example"]
        #expect(mails.map { $0["from"]?.string } == senders)
        #expect(
            mails.map { $0["headers"]?["from"]?.string } == [
                "Shop <payments@own.example>", "Shop Billing <billing@own.example>",
                "Poller <pay@shop.example>",
            ]
        )
        #expect(mails[0]["headers"]?["message-id"]?.string?.hasSuffix("@own.example>") == true)
        await channel.close()
    }

    private func check(
        _ shops: [AccountID: Branding],
        _ troubles: MemoryRelayFailures,
        _ clock: ManualClock,
        _ time: VirtualTime
    ) async throws -> SenderCheck<ManualClock> {
        SenderCheck(
            relay: try SMTPRelay("smtp://127.0.0.1:\(try await sink.port())"),
            sender: try MailSender("pay@shop.example"),
            branding: { shops },
            failures: troubles,
            clock: clock,
            wallClock: { time.now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test("a refusal is recorded again while it lasts, and the sender is checked again after a 4xx")
    func again() async throws {
        let (time, clock, troubles) = (VirtualTime(), ManualClock(), MemoryRelayFailures())
        let shops = [
            try AccountID("acct_1"): try Branding(name: "Shop", mailFrom: "doubtful@own.example")
        ]
        let check = try await check(shops, troubles, clock, time)
        let running = Task { await check.run() }
        for count in 1...2 {
            await clock.waitForSleepers(1)
            let known = try await troubles.relayFailures()
            #expect((known?.count ?? 0) == count - 1)
            // Mails from other senders are accepted meanwhile.
            try await troubles.noteAcceptance(at: time.now)
            for _ in 0..<10 {
                await clock.waitForSleepers(1)
                time.advance(by: .seconds(60))
                clock.advance(by: .seconds(60))
            }
            try await eventually("noted") {
                try await troubles.relayFailures()?.count == count
            }
            #expect(try await troubles.relayFailures()?.last == time.now)
        }
        running.cancel()
        await running.value
        #expect(sink.lines.allSatisfy { $0["raw"] == nil })
    }

    @Test("a refused sender is found without sending an email, and only that one is reported")
    func refused() async throws {
        let (time, clock, troubles) = (VirtualTime(), ManualClock(), MemoryRelayFailures())
        let shops = [
            try AccountID("acct_1"): try Branding(name: "Shop", mailFrom: "refused@own.example"),
            try AccountID("acct_2"): try Branding(name: "Shop", mailFrom: "fine@own.example"),
        ]
        let check = try await check(shops, troubles, clock, time)
        let running = Task { await check.run() }
        try await eventually("the refusal is noted") {
            try await troubles.relayFailures() != nil
        }
        let trouble = try #require(try await troubles.relayFailures())
        #expect(trouble.answer.hasPrefix("sender refused@own.example: 553 5.7.1"))
        #expect(trouble.count == 1)
        running.cancel()
        await running.value
        #expect(sink.lines.allSatisfy { $0["raw"] == nil })
    }

    @Test("an invalid sender address is a configuration error")
    func broken() {
        for text in ["", "shop", "Shop <shop>", "a@b.example\r\nBcc: c@d.example"] {
            #expect(throws: InvalidInput.self, "\(text)") { try MailSender(text) }
        }
    }
}
