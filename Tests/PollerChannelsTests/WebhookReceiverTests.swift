import Foundation
import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerTesting
import Testing

@testable import PollerChannels

@Suite(
    "Webhook recipients with broken responses or several addresses",
    .enabled(
        if: PythonPeer.has("standardwebhooks"),
        "needs the PyPI package standardwebhooks (see Tests/Peers/requirements.txt)"
    )
)
struct WebhookReceiverTests {
    private let secret: WebhookSecret
    private let sink: PythonPeer

    init() throws {
        var generator = SystemRandomNumberGenerator()
        secret = WebhookSecret(using: &generator)
        sink = try PythonPeer("webhook_sink.py", ["--secret", secret.reveal])
    }

    private func channel(
        reaching ranges: String,
        _ hosts: [String: [String]]
    ) throws -> WebhookChannel {
        WebhookChannel(
            inline: InlineSecrets(forAll: secret),
            guarding: AddressGuard(allowing: try AddressRange.list(ranges)),
            resolver: FixedResolver(hosts),
            wallClock: { Samples.start }
        )
    }

    private func attempt(_ path: String) async throws -> AttemptResult {
        let channel = try channel(reaching: "127.0.0.0/8", [:])
        let url = try NotifyURL("http://127.0.0.1:\(try await sink.port())\(path)")
        let result = await channel.deliver(Samples.event(), to: url, attempt: 1)
        await channel.close()
        return result
    }

    @Test(
        "a complete 2xx status line is acceptance, whatever the rest of the head",
        arguments: [
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\nok", true),
            ("HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok", true),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: "
                    + "chunked\r\n\r\n0\r\n\r\n",
                true
            ),
            ("HTTP/1.1 299\r\nx-a", true),
            (
                "HTTP/1.1 200 OK\r\na: b\r\n c\r\nd : e\r\ncontent-length: "
                    + "2\r\ncontent-length: 2\r\n\r\nok",
                false
            ),
        ]
    )
    func oddHead(answer: String, isBroken: Bool) async throws {
        let encoded = try #require(
            answer.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        )
        let result = try await attempt("/raw/\(encoded)")
        #expect(result.outcome == .delivered && result.kind == .ok, "\(result)")
        #expect((200..<300).contains(result.code ?? 0))
        #expect(result.reason.hasPrefix("the head of the response is invalid: ") == isBroken)
        #expect(result.reason.isEmpty != isBroken, "\(result.reason)")
    }

    @Test(
        "any other complete status line counts by its status, and half a line is a reset"
    )
    func oddRefusal() async throws {
        for (answer, outcome, kind, code) in [
            (
                "HTTP%2F1.1%20500%20No%0D%0Ax%0D%0A%0D%0A", AttemptResult.Outcome.failed,
                AttemptClass.serverError, 500
            ),
            ("HTTP%2F1.1%20410%20Gone%0D%0Ax%0D%0A%0D%0A", .rejected, .gone, 410),
            ("HTTP%2F1.1%20200%20OK", .failed, .reset, nil),
        ] as [(String, AttemptResult.Outcome, AttemptClass, Int?)] {
            let result = try await attempt("/raw/\(answer)")
            #expect(result.outcome == outcome && result.kind == kind && result.code == code)
        }
    }

    @Test(
        "a refusing address costs no attempt, and a blocked address is never connected"
    )
    func severalAddresses() async throws {
        let port = try await sink.port()
        // No process listens on the first address. The last one is blocked, although it is this machine, too.
        let hosts = ["two.example.test": ["127.0.0.2", "127.0.0.1", "127.0.0.3"]]
        let channel = try channel(reaching: "127.0.0.1/32,127.0.0.2/32", hosts)
        let url = try NotifyURL("http://two.example.test:\(port)/hook")
        for attempt in 1...6 {
            let result = await channel.deliver(Samples.event(), to: url, attempt: attempt)
            #expect(result.outcome == .delivered, "\(attempt): \(result.reason)")
            #expect(result.address == "127.0.0.1:\(port)")
        }
        await channel.close()
        let blocked = try self.channel(reaching: "127.0.0.2/32", hosts)
        let result = await blocked.deliver(Samples.event(), to: url, attempt: 1)
        #expect(result.outcome == .failed && result.kind == .connect, "\(result)")
        await blocked.close()
        #expect(sink.lines.count { $0["path"] != nil } == 6)
    }
}
