import Foundation
import Poller
import PollerTesting
import Testing

@testable import PollerChannels

@Suite(
    "A mail, received by aiosmtpd",
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

    private func channel(
        from sender: String = "Zahlungen Müller <pay@shop.example>"
    ) async throws -> EmailChannel {
        EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:\(try await sink.port())"),
            sender: try MailSender(sender)
        )
    }

    @Test("arrives as text and HTML with headers a mail program understands")
    func arrives() async throws {
        let channel = try await channel()
        let event = Samples.event()
        let url = try NotifyURL("mailto:kunde%2Btag@example.org")
        #expect(await channel.deliver(event, to: url, attempt: 1) == .delivered)
        let mail = try await sink.line("a mail") { $0["raw"] != nil }
        #expect(mail["from"]?.string == "pay@shop.example")
        #expect(mail["to"]?.array?.map(\.string) == ["kunde+tag@example.org"])
        #expect(mail["type"]?.string == "multipart/alternative")
        #expect(mail["defects"]?.array?.isEmpty == true)
        #expect(mail["parts"]?["text/plain"]?.string?.contains("You have authorised") == true)
        #expect(mail["parts"]?["text/html"]?.string?.contains("<p>You have authorised") == true)
        let headers = mail["headers"]
        #expect(headers?["subject"]?.string == "Payment authorised (src_1)")
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

    @Test("every attempt is the same mail, and mails of a source are one thread")
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

    @Test("4xx may work later, 5xx never will, and the connection survives both")
    func refusals() async throws {
        let channel = try await channel()
        func deliver(_ local: String) async throws -> AttemptResult {
            let url = try NotifyURL("mailto:\(local)@example.org")
            return await channel.deliver(Samples.event(), to: url, attempt: 1)
        }
        guard case .failed(let reason, _) = try await deliver("tempfail") else {
            Issue.record("451 is not for ever")
            return
        }
        #expect(reason.contains("451"))
        #expect(try await deliver("permfail") == .rejected("the relay answered 550"))
        #expect(try await deliver("datafail") == .rejected("the relay answered 554"))
        #expect(try await deliver("fine") == .delivered)
        await channel.close()
    }

    @Test("many mails at once all arrive, over at most eight connections")
    func many() async throws {
        let channel = try await channel()
        let results = await withTaskGroup(of: AttemptResult.self) { group in
            for number in 1...40 {
                group.addTask {
                    guard let url = try? NotifyURL("mailto:n\(number)@example.org") else {
                        return .rejected("no URL")
                    }
                    return await channel.deliver(Samples.event(), to: url, attempt: 1)
                }
            }
            var results: [AttemptResult] = []
            for await result in group { results.append(result) }
            return results
        }
        #expect(results.allSatisfy { $0 == .delivered })
        try await eventually("40 mails") { sink.lines.count { $0["raw"] != nil } == 40 }
        let mails = sink.lines.filter { $0["raw"] != nil }
        #expect(Set(mails.compactMap { $0["peer_port"]?.int }).count <= 8)
        await channel.close()
    }

    @Test("nobody listening, or a relay that does not offer TLS, is a failure and no mail")
    func unreachable() async throws {
        let url = try NotifyURL("mailto:a@example.org")
        let absent = EmailChannel(
            relay: try SMTPRelay("smtp://127.0.0.1:1"),
            sender: try MailSender("pay@shop.example")
        )
        guard case .failed = await absent.deliver(Samples.event(), to: url, attempt: 1) else {
            Issue.record("delivered to nobody")
            return
        }
        await absent.close()
        // libcurl resolves names below localhost itself; our rule for plain relays does not know
        // them, so this one must offer TLS, which the sink does not.
        let open = EmailChannel(
            relay: try SMTPRelay("smtp://relay.localhost:\(try await sink.port())"),
            sender: try MailSender("pay@shop.example")
        )
        let result = await open.deliver(Samples.event(), to: url, attempt: 1)
        guard case .failed(let reason, _) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(reason.contains("SSL"))
        #expect(!sink.lines.contains { $0["raw"] != nil })
        await open.close()
    }

    @Test("cancelling ends an attempt at a relay that does not answer")
    func cancelled() async throws {
        let channel = try await channel()
        let url = try NotifyURL("mailto:slow@example.org")
        let clock = ContinuousClock()
        let start = clock.now
        let delivery = Task { await channel.deliver(Samples.event(), to: url, attempt: 1) }
        // The transfer must have begun for this to mean anything: a mail of another thread shows
        // that the pool works.
        let other = try NotifyURL("mailto:quick@example.org")
        #expect(await channel.deliver(Samples.event(), to: other, attempt: 1) == .delivered)
        delivery.cancel()
        guard case .failed = await delivery.value else {
            Issue.record("not cancelled")
            return
        }
        #expect(clock.now - start < .seconds(10))
        await channel.close()
    }
}
