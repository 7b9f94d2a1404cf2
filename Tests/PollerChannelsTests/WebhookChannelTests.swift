import Foundation
import NIOCore
import NIOSSL
import Poller
import PollerNet
import PollerTesting
import Testing

@testable import PollerChannels

@Suite(
    "A webhook, received by an independent library",
    .enabled(
        if: PythonPeer.has("standardwebhooks"),
        "needs the PyPI package standardwebhooks (see Tests/Peers/requirements.txt)"
    )
)
struct WebhookChannelTests {
    private let secret: WebhookSecret
    private let loopback: AddressGuard

    init() throws {
        var chance = SystemRandomNumberGenerator()
        secret = WebhookSecret(using: &chance)
        loopback = AddressGuard(allowing: try AddressRange.list("127.0.0.0/8"))
    }

    private func channel(
        secrets: [WebhookSecret]? = nil,
        resolver: any AddressResolver = SystemResolver(),
        trustRoots: NIOSSLTrustRoots = .default
    ) -> WebhookChannel {
        let secrets = secrets ?? [secret]
        return WebhookChannel(
            secrets: { _ in secrets },
            guarding: loopback,
            resolver: resolver,
            trustRoots: trustRoots,
            wallClock: { Timestamp(ms: Int64(Date().timeIntervalSince1970 * 1000)) }
        )
    }

    private func sink(_ arguments: [String] = []) throws -> PythonPeer {
        try PythonPeer("webhook_sink.py", ["--secret", secret.reveal] + arguments)
    }

    private func attempt(
        _ path: String,
        at sink: PythonPeer? = nil
    ) async throws -> (AttemptResult, PythonPeer) {
        let sink = try sink ?? self.sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())\(path)")
        let channel = channel()
        let result = await channel.deliver(Samples.event(), to: url, attempt: 1)
        await channel.close()
        return (result, sink)
    }

    @Test("the library accepts it as sent, and nothing else with its signature")
    func genuine() async throws {
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/hook?x=1#part")
        let channel = channel()
        let event = Samples.event()
        #expect(await channel.deliver(event, to: url, attempt: 1) == .delivered)
        let line = try await sink.line("a request") { $0["path"] != nil }
        #expect(line["path"]?.string == "/hook?x=1")
        #expect(line["method"]?.string == "POST")
        #expect(line["body"]?.string == event.json)
        #expect(line["headers"]?["webhook-id"]?.string == event.id.description)
        #expect(line["headers"]?["content-type"]?.string == "application/json")
        #expect(line["headers"]?["user-agent"]?.string == "poller/1")
        #expect(line["verified"]?["as_sent"]?.bool == true)
        for part in ["id", "timestamp", "body"] {
            #expect(line["verified"]?[part]?.bool == false, "changed \(part) accepted")
        }
        await channel.close()
    }

    @Test("each live secret signs, so either side may rotate first")
    func rotation() async throws {
        var chance = SystemRandomNumberGenerator()
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/")
        let channel = channel(secrets: [WebhookSecret(using: &chance), secret])
        #expect(await channel.deliver(Samples.event(), to: url, attempt: 1) == .delivered)
        let line = try await sink.line("a request") { $0["path"] != nil }
        #expect(line["verified"]?["as_sent"]?.bool == true)
        #expect(line["headers"]?["webhook-signature"]?.string?.split(separator: " ").count == 2)
        await channel.close()
    }

    @Test("connections are used again")
    func keepAlive() async throws {
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/")
        let channel = channel()
        for _ in 1...3 {
            #expect(await channel.deliver(Samples.event(), to: url, attempt: 1) == .delivered)
        }
        try await eventually("three requests") {
            sink.lines.count { $0["path"] != nil } == 3
        }
        let ports = Set(sink.lines.compactMap { $0["peer_port"]?.int })
        #expect(ports.count == 1)
        await channel.close()
    }

    @Test("a redirect is not followed", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let (result, sink) = try await attempt("/redirect/\(status)")
        #expect(result == .failed("answered \(status): redirect not followed", after: nil))
        #expect(sink.lines.count { $0["path"] != nil } == 1)
    }

    @Test("410 is final, other refusals are not")
    func refusals() async throws {
        guard case (.rejected, _) = try await attempt("/status/410") else {
            Issue.record("410 not final")
            return
        }
        for status in [400, 401, 404, 408, 425, 500, 502] {
            let (result, _) = try await attempt("/status/\(status)")
            #expect(result == .failed("answered \(status)", after: nil))
        }
    }

    @Test("Retry-After is heeded on 429 and 503")
    func retryAfter() async throws {
        let (result, _) = try await attempt("/retry-after/503/120")
        #expect(result == .failed("answered 503", after: .seconds(120)))
        let (odd, _) = try await attempt("/retry-after/429/soon")
        #expect(odd == .failed("answered 429", after: nil))
    }

    @Test("of an endless answer 8 KiB are read, then the connection is cut")
    func huge() async throws {
        let (result, sink) = try await attempt("/huge")
        #expect(result == .delivered)
        try await sink.line("cut off") { $0["cut"]?.string == "huge" }
    }

    @Test("a connection that is cut, or refused, is a failure at once")
    func reset() async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let (result, _) = try await attempt("/reset")
        guard case .failed = result else {
            Issue.record("\(result)")
            return
        }
        let channel = channel()
        let refused = await channel.deliver(
            Samples.event(),
            to: try NotifyURL("http://127.0.0.1:1/"),
            attempt: 1
        )
        guard case .failed = refused else {
            Issue.record("\(refused)")
            return
        }
        await channel.close()
        #expect(clock.now - start < .seconds(8))
    }

    @Test("a receiver that drips its answer or gives none costs 15 s and no more")
    func slow() async throws {
        let sink = try sink()
        _ = try await sink.port()
        let clock = ContinuousClock()
        let start = clock.now
        async let drip = attempt("/drip", at: sink)
        async let hang = attempt("/hang", at: sink)
        let (dripped, _) = try await drip
        #expect(dripped == .delivered)
        let (hung, _) = try await hang
        #expect(hung == .failed("no complete answer within 15s", after: nil))
        let took = clock.now - start
        #expect(took > .seconds(14) && took < .seconds(18))
    }

    @Test("cancelling ends the attempt")
    func cancelled() async throws {
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/hang")
        let channel = channel()
        let delivery = Task { await channel.deliver(Samples.event(), to: url, attempt: 1) }
        try await sink.line("a request") { $0["path"] != nil }
        delivery.cancel()
        let result = await delivery.value
        guard case .failed = result else {
            Issue.record("\(result)")
            return
        }
        await channel.close()
    }

    @Test("the judged address is connected, with the name in Host, SNI and certificate check")
    func pinned() async throws {
        let pair = try SelfSigned(name: "hooks.example.test")
        defer { pair.remove() }
        let sink = try sink(["--cert", pair.certificate, "--key", pair.key])
        let port = try await sink.port()
        let channel = channel(
            resolver: FixedResolver(["hooks.example.test": ["127.0.0.1"]]),
            trustRoots: .file(pair.certificate)
        )
        let url = try NotifyURL("https://Hooks.example.TEST:\(port)/x")
        #expect(await channel.deliver(Samples.event(), to: url, attempt: 1) == .delivered)
        let line = try await sink.line("a request") { $0["path"] != nil }
        #expect(line["headers"]?["host"]?.string == "hooks.example.test:\(port)")
        #expect(sink.lines.contains { $0["sni"]?.string == "hooks.example.test" })

        let wrongName = self.channel(
            resolver: FixedResolver(["other.example.test": ["127.0.0.1"]]),
            trustRoots: .file(pair.certificate)
        )
        let result = await wrongName.deliver(
            Samples.event(),
            to: try NotifyURL("https://other.example.test:\(port)/x"),
            attempt: 1
        )
        guard case .failed(let reason, _) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(reason.contains("TLS"))
        await channel.close()
        await wrongName.close()
    }

    @Test("a name that leads to a blocked address is not connected, and given up after three looks")
    func blocked() async throws {
        let sink = try sink()
        let port = try await sink.port()
        let closed = WebhookChannel(
            secrets: { [secret] _ in [secret] },
            guarding: AddressGuard(),
            resolver: FixedResolver(["evil.example.test": ["127.0.0.1"]]),
            wallClock: { Samples.start }
        )
        let hosts = ["evil.example.test", "127.0.0.1", "[::ffff:127.0.0.1]"]
        for (scheme, host) in ["http", "https"].flatMap({ s in hosts.map { (s, $0) } }) {
            let url = try NotifyURL("\(scheme)://\(host):\(port)/")
            for attempt in 1...3 {
                let result = await closed.deliver(Samples.event(), to: url, attempt: attempt)
                switch result {
                case .failed where attempt < 3: break
                case .rejected where attempt == 3: break
                default: Issue.record("\(url) attempt \(attempt): \(result)")
                }
            }
        }
        #expect(!sink.lines.contains { $0["path"] != nil })
        await closed.close()
    }

    @Test("http reaches allow-listed addresses only")
    func plainText() async throws {
        let channel = channel(resolver: FixedResolver(["a.example.test": ["93.184.216.34"]]))
        let url = try NotifyURL("http://a.example.test/")
        guard case .rejected = await channel.deliver(Samples.event(), to: url, attempt: 3) else {
            Issue.record("http to a public address")
            return
        }
        await channel.close()
    }
}
