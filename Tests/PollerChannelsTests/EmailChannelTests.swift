import Foundation
import PollerDeliveries
import PollerIdentity
import PollerIncidents
import PollerPayments
import PollerQueue
import PollerTesting
import Testing

@testable import PollerChannels
@testable import PollerWatches

@Suite(
    "Emails, received by aiosmtpd",
    .enabled(
        if: PythonPeer.has("aiosmtpd"),
        "needs the PyPI package aiosmtpd (see Tests/Peers/requirements.txt)"
    )
)
struct EmailChannelTests {
    private let sink: PythonPeer

    init() throws {
        sink = try PythonPeer("smtp_sink.py")
    }

    private let tokens = UnsubscribeTokens(secret: Array(repeating: 7, count: 32))

    private func channel(
        from sender: String = "Zahlungen Müller <pay@shop.example>",
        branding: [AccountID: Branding] = [:],
        base: String? = nil,
        suppressions: (any SuppressionList)? = nil
    ) async throws -> EmailChannel {
        EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:\(try await sink.port())"),
            sender: try MailSender(sender),
            branding: { branding },
            unsubscribeLinks: base.map { UnsubscribeLinks(base: $0, tokens: tokens) },
            suppressions: suppressions,
            wallClock: { VirtualTime.start }
        )
    }

    @Test("an email arrives as text and HTML with headers that email programs understand")
    func arrives() async throws {
        let channel = try await channel()
        let event = Samples.event()
        let url = try NotifyURL("mailto:kunde%2Btag@example.org")
        #expect(await channel.deliver(event, to: url, attempt: 1).outcome == .delivered)
        let mail = try await sink.line("a mail") { $0["raw"] != nil }
        #expect(mail["from"]?.string == "pay@shop.example")
        #expect(mail["to"]?.array?.map(\.string) == ["kunde+tag@example.org"])
        #expect(mail["type"]?.string == "multipart/alternative")
        #expect(mail["defects"]?.array?.isEmpty == true)
        #expect(mail["parts"]?["text/plain"]?.string?.contains("Your bank has approved") == true)
        #expect(
            mail["parts"]?["text/html"]?.string?.contains(">Thank you. Your bank has approved")
                == true
        )
        let headers = mail["headers"]
        #expect(headers?["subject"]?.string == "Payment authorised")
        #expect(headers?["from"]?.string == "Zahlungen Müller <pay@shop.example>")
        #expect(headers?["auto-submitted"]?.string == "auto-generated")
        #expect(headers?["date"]?.string == "Fri, 20 Nov 2026 09:00:00 +0000")
        let endpoint = EndpointID(account: .main, url: url.description)
        #expect(headers?["message-id"]?.string == "<\(event.id).\(endpoint)@shop.example>")
        #expect(headers?["references"]?.string?.hasPrefix("<thread.") == true)
        let raw = try #require(mail["raw"]?.string)
        #expect(!raw.replacing("\r\n", with: "").contains(where: { $0 == "\r" || $0 == "\n" }))
        #expect(raw.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 998 })
        await channel.close()
    }

    @Test(
        "a recomposed email equals the sent one, without the recipient's unsubscribe link"
    )
    func readAgain() async throws {
        let channel = try await channel(base: "https://pay.example")
        let event = Samples.event()
        let target = DeliveryTarget(try NotifyURL("mailto:jane@example.org"))
        let result = await channel.deliver(event, to: target, attempt: 1)
        #expect(result.outcome == .delivered)
        let mail = try await sink.line("a mail") { $0["raw"] != nil }
        let sent = try #require(mail["parts"]?["text/plain"]?.string)
        let message = try #require(await channel.message(of: event, to: target))
        #expect(message.recipient == "jane@example.org")
        #expect(message.subject == "Payment authorised")
        #expect(message.digest == result.digest, "it is known for the text that was sent")
        #expect(sent.contains("https://pay.example/u/"))
        #expect(!message.text.contains("/u/"), "\(message.text)")
        #expect(message.text.contains("Your bank has approved"))
        // Another text has another digest.
        let other = try await self.channel(base: "https://other.example")
        #expect(await other.message(of: event, to: target)?.digest != result.digest)
        await channel.close()
        await other.close()
    }

    @Test("operators get one email when an incident opens and one when it ends")
    func incident() async throws {
        let list = MemorySuppressionList()
        let channel = try await channel(base: "https://pay.example", suppressions: list)
        let ops = try MailAddress("ops@example.org")
        try await list.suppress(
            SuppressionEntry(everywhere: ops),
            because: .unsubscribed,
            noting: SuppressionNote(at: Timestamp(ms: 0))
        )
        var board = IncidentBoard()
        let problem = IncidentObservation.Problem(
            nil,
            count: 3,
            "workers: none is alive & 3 <watches> wait"
        )
        let seen = [IncidentKind.noWorker: IncidentObservation([problem], action: "start one")]
        let opened = try #require(board.note(seen, at: Samples.start, hold: .zero).first)
        let over = try #require(
            board.note(
                [.noWorker: IncidentObservation()],
                at: Samples.start + .seconds(90),
                hold: .zero
            ).first
        )
        let url = try NotifyURL("mailto:ops@example.org")
        for incident in [opened, over] {
            #expect(channel.supports(incident.event))
            let result = await channel.deliver(incident.event, to: url, attempt: 1)
            #expect(result.outcome == .delivered, "whatever the list of payers says")
        }
        try await eventually("two mails") { sink.lines.count { $0["raw"] != nil } == 2 }
        let mails = sink.lines.filter { $0["raw"] != nil }
        let subjects = mails.map { $0["headers"]?["subject"]?.string }
        #expect(
            subjects == [
                "[Poller] workers: none is alive & 3 <watches> wait",
                "[Poller] over: workers: none is alive & 3 <watches> wait",
            ]
        )
        let text = try #require(mails[0]["parts"]?["text/plain"]?.string)
        for line in ["start one", "since ", "3 <watches> wait", opened.id.description] {
            #expect(text.contains(line), "\(line) in \(text)")
        }
        #expect(mails[1]["parts"]?["text/plain"]?.string?.contains("Resolved.") == true)
        let html = try #require(mails[0]["parts"]?["text/html"]?.string)
        #expect(html.contains("&lt;watches&gt;") && !html.contains("<watches>"))
        let threads = Set(mails.map { $0["headers"]?["references"]?.string })
        #expect(threads.count == 1)
        #expect(mails.allSatisfy { $0["headers"]?["list-unsubscribe"]?.string == nil })
        await channel.close()
    }

    @Test("every attempt sends the same email, and emails of a source are one thread")
    func stable() async throws {
        let channel = try await channel()
        let url = try NotifyURL("mailto:a@example.org")
        _ = await channel.deliver(Samples.event(), to: url, attempt: 1)
        _ = await channel.deliver(Samples.event(), to: url, attempt: 2)
        let final = Samples.event("src_1", "consumed", previous: "chargeable", final: true)
        _ = await channel.deliver(final, to: url, attempt: 1)
        try await eventually("three mails") { sink.lines.count { $0["raw"] != nil } == 3 }
        let mails = sink.lines.filter { $0["raw"] != nil }
        #expect(mails[0]["raw"] == mails[1]["raw"])
        let ids = mails.map { $0["headers"]?["message-id"]?.string }
        #expect(ids[0] != ids[2])
        #expect(Set(mails.map { $0["headers"]?["references"]?.string }).count == 1)
        await channel.close()
    }

    @Test("an email has its shop's name and a one-click unsubscribe link")
    func branded() async throws {
        let shop = try Branding(
            name: "Käse & Söhne \"<b>\"",
            homeURL: "https://shop.example/orders?a=1&b=2",
            support: "help@shop.example",
            colour: "#ffcc00",
            logoURL: "https://shop.example/logo.png"
        )
        let account = try AccountID("acct_1")
        let channel = try await channel(branding: [account: shop], base: "https://pay.example")
        let url = try NotifyURL("mailto:kunde@example.org")
        let event = Samples.event(account: account, object: #"{"amount":1099,"currency":"eur"}"#)
        #expect(await channel.deliver(event, to: url, attempt: 1).outcome == .delivered)
        _ = await channel.deliver(Samples.event(), to: url, attempt: 1)
        try await eventually("two mails") { sink.lines.count { $0["raw"] != nil } == 2 }
        let mails = sink.lines.filter { $0["raw"] != nil }
        let headers = mails[0]["headers"]
        #expect(headers?["from"]?.string?.contains("Käse & Söhne") == true)
        #expect(headers?["from"]?.string?.hasSuffix("<pay@shop.example>") == true)
        #expect(headers?["reply-to"]?.string == "help@shop.example")
        let recipient = try MailAddress("kunde@example.org")
        let link = "https://pay.example/u/\(tokens.text(for: .init(recipient, of: account)))"
        let unsubscribe = try #require(headers?["list-unsubscribe"]?.string)
        #expect(unsubscribe == "<\(link)>" || unsubscribe.hasPrefix("<\(link)?v="))
        #expect(headers?["list-unsubscribe-post"]?.string == "List-Unsubscribe=One-Click")
        let html = try #require(mails[0]["parts"]?["text/html"]?.string)
        #expect(html.contains("Käse &amp; Söhne &quot;&lt;b&gt;&quot;") && !html.contains("<b>"))
        #expect(html.contains("€10.99") && html.contains("href=\"\(link)"))
        #expect(html.contains("background:#ffcc00;color:#000000"), "dark on a light button")
        let text = try #require(mails[0]["parts"]?["text/plain"]?.string)
        #expect(text.contains("Käse & Söhne \"<b>\"") && text.contains(link))
        #expect(text.contains("https://shop.example/orders?a=1&b=2"))
        // Another account belongs to another shop.
        #expect(mails[1]["raw"]?.string?.contains("shop.example/orders") == false)
        #expect(mails[1]["headers"]?["list-unsubscribe"]?.string?.contains(link) == false)
        await channel.close()
    }

    @Test("a suppressed address gets no email, and an unavailable list stops all sending")
    func suppressed() async throws {
        let list = MemorySuppressionList()
        let channel = try await channel(suppressions: list)
        func deliver(_ local: String, of account: AccountID = .main) async throws -> AttemptResult {
            let url = try NotifyURL("mailto:\(local)@example.org")
            return await channel.deliver(Samples.event(account: account), to: url, attempt: 1)
        }
        let gone = try MailAddress("gone@example.org")
        try await list.suppress(
            SuppressionEntry(gone, of: .main),
            because: .unsubscribed,
            noting: SuppressionNote(at: Timestamp(ms: 0))
        )
        let skipped = try await deliver("GONE")
        #expect(skipped.outcome == .skipped && skipped.reason.contains("unsubscribed"))
        // The suppression applies to one shop only.
        #expect(try await deliver("gone", of: AccountID("acct_1")).outcome == .delivered)
        // If the list is unavailable, nothing is sent.
        list.fail(with: .unavailable("down"))
        #expect(try await deliver("fine").outcome == .failed)
        _ = try await sink.line("a mail") { $0["raw"] != nil }
        #expect(sink.lines.count { $0["raw"] != nil } == 1)
        await channel.close()
    }

    @Test("many emails at once all arrive, over at most eight connections")
    func many() async throws {
        let channel = try await channel()
        let results = await withTaskGroup(of: AttemptResult.self) { group in
            for number in 1...24 {
                group.addTask {
                    guard let url = try? NotifyURL("mailto:n\(number)@example.org") else {
                        return .rejected("no URL", .unusable)
                    }
                    return await channel.deliver(Samples.event(), to: url, attempt: 1)
                }
            }
            var results: [AttemptResult] = []
            for await result in group { results.append(result) }
            return results
        }
        #expect(results.allSatisfy { $0.outcome == .delivered })
        try await eventually("24 emails") { sink.lines.count { $0["raw"] != nil } == 24 }
        let mails = sink.lines.filter { $0["raw"] != nil }
        #expect(Set(mails.compactMap { $0["peer_port"]?.int }).count <= 8)
        await channel.close()
    }

    @Test("an unreachable relay and one without TLS fail the attempt without sending")
    func unreachable() async throws {
        let url = try NotifyURL("mailto:a@example.org")
        let absent = EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:1"),
            sender: try MailSender("pay@shop.example"),
            wallClock: { VirtualTime.start }
        )
        #expect(await absent.deliver(Samples.event(), to: url, attempt: 1).outcome == .failed)
        await absent.close()
        // libcurl resolves names below localhost itself. The rule for plain-text relays does not know them, so this
        // relay must offer TLS, which the sink does not.
        let open = EmailChannel(
            relay: try SMTPRelay("smtp://relay.localhost:\(try await sink.port())"),
            sender: try MailSender("pay@shop.example"),
            wallClock: { VirtualTime.start }
        )
        let result = await open.deliver(Samples.event(), to: url, attempt: 1)
        #expect(result.outcome == .failed && result.kind == .tls)
        #expect(result.reason.contains("SSL"))
        #expect(!sink.lines.contains { $0["raw"] != nil })
        await open.close()
    }

    @Test("a relay that ignores QUIT after a rejection delays the answer by the timeout at most")
    func mute() async throws {
        let channel = EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:\(try await sink.port())"),
            sender: try MailSender("pay@shop.example"),
            timeout: .seconds(2),
            wallClock: { VirtualTime.start }
        )
        let url = try NotifyURL("mailto:mute@example.org")
        let clock = ContinuousClock()
        let start = clock.now
        let result = await channel.deliver(Samples.event(), to: url, attempt: 1)
        #expect(result.outcome == .rejected && result.code == 550)
        // libcurl's own limit for a reply is ten minutes, and it ignores the limit of the transfer here.
        #expect(clock.now - start < .seconds(20))
        let other = try NotifyURL("mailto:quick@example.org")
        #expect(await channel.deliver(Samples.event(), to: other, attempt: 1).outcome == .delivered)
        await channel.close()
    }

    @Test("cancelling ends an attempt at a relay that does not answer")
    func cancelled() async throws {
        let channel = try await channel()
        let url = try NotifyURL("mailto:slow@example.org")
        let clock = ContinuousClock()
        let start = clock.now
        let delivery = Task { await channel.deliver(Samples.event(), to: url, attempt: 1) }
        // The transfer must have started before the cancellation. A mail on another thread shows that the pool works.
        let other = try NotifyURL("mailto:quick@example.org")
        #expect(await channel.deliver(Samples.event(), to: other, attempt: 1).outcome == .delivered)
        delivery.cancel()
        #expect(await delivery.value.outcome == .failed)
        // An attempt takes 30 s at most.
        #expect(clock.now - start < .seconds(25))
        await channel.close()
    }
}
