import Foundation
import NIOCore
import NIOSSL
import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerTesting
import Testing

@testable import PollerChannels
@testable import PollerOperations
@testable import PollerWatches

@Suite(
    "Webhooks, received by an independent library",
    .enabled(
        if: PythonPeer.has("standardwebhooks"),
        "needs the PyPI package standardwebhooks (see Tests/Peers/requirements.txt)"
    )
)
struct WebhookChannelTests {
    private let secret: WebhookSecret
    private let loopback: AddressGuard

    init() throws {
        var generator = SystemRandomNumberGenerator()
        secret = WebhookSecret(using: &generator)
        loopback = AddressGuard(allowing: try AddressRange.list("127.0.0.0/8"))
    }

    private func channel(
        resolver: any AddressResolver = SystemResolver(clock: ContinuousClock()),
        trustRoots: NIOSSLTrustRoots = .default
    ) -> WebhookChannel {
        WebhookChannel(
            inline: InlineSecrets(forAll: secret),
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

    @Test("regressions 6 and 7: a signature is valid for the sent message only")
    func genuine() async throws {
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/hook?x=1#part")
        let channel = channel()
        let event = Samples.event()
        let result = await channel.deliver(event, to: url, attempt: 1)
        #expect(result.outcome == .delivered)
        let composed = await channel.message(of: event, to: DeliveryTarget(url))
        #expect(composed?.digest == result.digest, "the digest is that of the sent message")
        let other = DeliveryTarget(try NotifyURL("http://127.0.0.1:9/hook"))
        #expect(await channel.message(of: event, to: other)?.digest != result.digest)
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

    @Test("every active secret signs, so either side may rotate first")
    func rotation() async throws {
        var generator = SystemRandomNumberGenerator()
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/")
        let channel = channel()
        let endpoint = Endpoint(
            id: EndpointID(unchecked: "ep_1"),
            account: .main,
            url: url,
            secrets: [EndpointSecret(WebhookSecret(using: &generator)), EndpointSecret(secret)]
        )
        let result = await channel.deliver(
            Samples.event(),
            to: DeliveryTarget(endpoint),
            attempt: 1
        )
        #expect(result.outcome == .delivered)
        let line = try await sink.line("a request") { $0["path"] != nil }
        #expect(line["verified"]?["as_sent"]?.bool == true)
        #expect(line["headers"]?["webhook-signature"]?.string?.split(separator: " ").count == 2)
        await channel.close()
    }

    @Test("a recipient gets the trace unless its endpoint sets its own `traceparent`")
    func trace() async throws {
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/")
        let channel = channel()
        var own = Endpoint(
            id: EndpointID(unchecked: "ep_1"),
            account: .main,
            url: url,
            secrets: [EndpointSecret(secret)]
        )
        own.headers = [try EndpointHeader("Traceparent", "mine")]
        for target in [DeliveryTarget(url), DeliveryTarget(own)] {
            for trace in [nil, Samples.trace] {
                var target = target
                target.trace = trace
                let result = await channel.deliver(Samples.event(), to: target, attempt: 1)
                #expect(result.outcome == .delivered)
            }
        }
        try await eventually("four requests") { sink.lines.count { $0["path"] != nil } == 4 }
        let received = sink.lines.filter { $0["path"] != nil }
            .map { $0["headers"]?["traceparent"]?.string ?? "none" }
        #expect(received == ["none", Samples.trace.traceparent, "mine", "mine"])
        await channel.close()
    }

    @Test("connections are reused")
    func keepAlive() async throws {
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/")
        let channel = channel()
        for _ in 1...3 {
            #expect(
                await channel.deliver(Samples.event(), to: url, attempt: 1).outcome == .delivered
            )
        }
        try await eventually("three requests") {
            sink.lines.count { $0["path"] != nil } == 3
        }
        let ports = Set(sink.lines.compactMap { $0["peer_port"]?.int })
        #expect(ports.count == 1)
        await channel.close()
    }

    @Test(
        "regression 5: a redirect is not followed with the signed body",
        arguments: [301, 302, 303, 307, 308]
    )
    func redirect(status: Int) async throws {
        let (result, sink) = try await attempt("/redirect/\(status)")
        #expect(result.outcome == .failed)
        #expect(result.reason == "answered \(status): redirect not followed")
        #expect(result.kind == .redirect && result.code == status)
        _ = try await sink.line("a request") { $0["path"] != nil }
        #expect(sink.lines.count { $0["path"] != nil } == 1)
    }

    @Test("410 is final, and other refusals are retried")
    func refusals() async throws {
        let (gone, _) = try await attempt("/status/410")
        #expect(gone.outcome == .rejected && gone.kind == .gone)
        let sink = try sink()
        let wanted: [(Int, AttemptClass)] = [
            (400, .clientError), (401, .unauthorized), (403, .unauthorized), (404, .notFound),
            (408, .clientError), (425, .clientError), (429, .rateLimited), (500, .serverError),
            (502, .serverError),
        ]
        for (status, kind) in wanted {
            let (result, _) = try await attempt("/status/\(status)", at: sink)
            #expect(result.outcome == .failed && result.kind == kind)
            #expect(result.code == status && result.reason == "answered \(status)")
            #expect(result.excerpt == "ok")
        }
    }

    @Test("header values that a recipient repeats are redacted in the excerpt")
    func echo() async throws {
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/echo/500")
        var endpoint = Endpoint(
            id: EndpointID(unchecked: "ep_1"),
            account: .main,
            url: url,
            secrets: [EndpointSecret(secret)]
        )
        endpoint.headers = [
            try EndpointHeader("Authorization", "Bearer canary-one"),
            try EndpointHeader("X-Odd", #"canary"two\"#),
        ]
        let channel = channel()
        let event = Samples.event()
        let result = await channel.deliver(event, to: DeliveryTarget(endpoint), attempt: 1)
        await channel.close()
        #expect(result.code == 500 && result.excerpt.lowercased().contains("webhook-id"))
        #expect(!result.excerpt.contains("canary") && result.excerpt.contains("(redacted)"))
    }

    @Test("regression 13: Retry-After applies to 429 and 503, in every form and up to an hour")
    func retryAfter() async throws {
        let sink = try sink()
        let values: [(String, Duration?)] = [
            ("120", .seconds(120)), ("-5", .zero), ("1000000000000", .seconds(3600)),
            ("1e12", nil), ("soon", nil),
            ("Fri%2C%2031%20Dec%202100%2023%3A59%3A59%20GMT", .seconds(3600)),
        ]
        for (status, (text, wait)) in zip([503, 429, 503, 429, 503, 429], values) {
            let (result, _) = try await attempt("/retry-after/\(status)/\(text)", at: sink)
            #expect(result.outcome == .failed && result.retryAfter == wait, "\(text)")
        }
    }

    @Test("8 KiB of an endless response are read, then the connection is cut")
    func huge() async throws {
        let (result, sink) = try await attempt("/huge")
        #expect(result.outcome == .delivered && result.excerpt.isEmpty)
        try await sink.line("cut off") { $0["cut"]?.string == "huge" }
    }

    @Test("a cut or refused connection fails at once")
    func reset() async throws {
        let (result, _) = try await attempt("/reset")
        #expect(result.outcome == .failed && result.kind == .reset, "\(result)")
        let channel = channel()
        let refused = await channel.deliver(
            Samples.event(),
            to: try NotifyURL("http://127.0.0.1:1/"),
            attempt: 1
        )
        #expect(refused.outcome == .failed && refused.kind == .connect, "\(refused)")
        await channel.close()
        for cut in [result, refused] { #expect(try #require(cut.phases.totalMs) < 8000) }
    }

    @Test("regression 3: a recipient that drips its response or sends none takes at most 15 s")
    func slow() async throws {
        let sink = try sink()
        _ = try await sink.port()
        async let drip = attempt("/drip", at: sink)
        async let hang = attempt("/hang", at: sink)
        let (dripped, _) = try await drip
        #expect(dripped.outcome == .delivered)
        let (hung, _) = try await hang
        #expect(hung.outcome == .failed && hung.kind == .timeout)
        #expect(hung.reason == "no complete response within 15s")
        // Only the attempts are timed, because the receivers' threads may be delayed on a busy machine.
        for slow in [dripped, hung] {
            #expect((14_000...28_000).contains(try #require(slow.phases.totalMs)))
        }
    }

    @Test("hanging endpoints do not delay another endpoint on the same host")
    func sharedHost() async throws {
        let sink = try sink()
        let port = try await sink.port()
        let channel = channel()
        let hanging = try NotifyURL("http://127.0.0.1:\(port)/hang")
        let attempts = (0..<20).map { _ in
            Task { await channel.deliver(Samples.event(), to: hanging, attempt: 1) }
        }
        try await eventually("twenty requests hang") {
            sink.lines.count { $0["path"]?.string == "/hang" } == 20
        }
        let well = try NotifyURL("http://127.0.0.1:\(port)/well")
        let result = await channel.deliver(Samples.event(), to: well, attempt: 1)
        #expect(result.outcome == .delivered)
        for attempt in attempts { attempt.cancel() }
        for attempt in attempts { #expect(await attempt.value.outcome == .failed) }
        await channel.close()
    }

    @Test("cancelling ends the attempt")
    func cancelled() async throws {
        let sink = try sink()
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())/hang")
        let channel = channel()
        let delivery = Task { await channel.deliver(Samples.event(), to: url, attempt: 1) }
        try await sink.line("a request") { $0["path"] != nil }
        delivery.cancel()
        #expect(await delivery.value.outcome == .failed)
        await channel.close()
    }

    @Test("the checked address is connected, with the name in Host, SNI and certificate check")
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
        #expect(await channel.deliver(Samples.event(), to: url, attempt: 1).outcome == .delivered)
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
        #expect(result.outcome == .failed && result.kind == .tls)
        #expect(result.reason.contains("TLS"))
        await channel.close()
        await wrongName.close()
    }

    @Test("a blocked address is never connected, and the third attempt is rejected")
    func blocked() async throws {
        let sink = try sink()
        let port = try await sink.port()
        let closed = WebhookChannel(
            inline: InlineSecrets(forAll: secret),
            guarding: AddressGuard(),
            resolver: FixedResolver(["evil.example.test": ["127.0.0.1"]]),
            wallClock: { Samples.start }
        )
        let hosts = ["evil.example.test", "127.0.0.1", "[::ffff:127.0.0.1]"]
        for (scheme, host) in ["http", "https"].flatMap({ s in hosts.map { (s, $0) } }) {
            let url = try NotifyURL("\(scheme)://\(host):\(port)/")
            for attempt in 1...3 {
                let result = await closed.deliver(Samples.event(), to: url, attempt: attempt)
                #expect(result.outcome == (attempt < 3 ? .failed : .rejected), "\(url) \(attempt)")
                #expect(result.kind == .blocked && result.address == nil)
            }
        }
        #expect(!sink.lines.contains { $0["path"] != nil })
        await closed.close()
    }

    @Test("http reaches allow-listed addresses only")
    func plainText() async throws {
        let channel = channel(resolver: FixedResolver(["a.example.test": ["93.184.216.34"]]))
        let url = try NotifyURL("http://a.example.test/")
        let result = await channel.deliver(Samples.event(), to: url, attempt: 3)
        #expect(result.outcome == .rejected && result.kind == .blocked)
        await channel.close()
    }
}
