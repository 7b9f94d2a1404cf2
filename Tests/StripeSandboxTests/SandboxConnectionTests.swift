import Foundation
import NIOCore
import NIOPosix
import StripeSandbox
import Testing

@Suite("Connections to the sandbox")
struct SandboxConnectionTests {
    private static let short = SandboxConfiguration(bodyTimeout: .milliseconds(200))

    @Test("an HTTP/1.1 request without a Host, or with two, gets 400 and is closed")
    func hosts() async throws {
        try await SandboxProbe.run { probe in
            for hosts in ["", "Host: 127.0.0.1\r\nHost: localhost\r\n", "Host: a/b\r\n"] {
                let answer = try await Self.talk(
                    to: probe.base,
                    "GET /v1/events HTTP/1.1\r\n\(hosts)Authorization: Bearer sk_test_1\r\n\r\n"
                )
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(hosts): \(answer)")
            }
            let old = try await Self.talk(
                to: probe.base,
                "GET /v1/events HTTP/1.0\r\nConnection: close\r\nAuthorization: Bearer sk_test_1\r\n\r\n"
            )
            #expect(old.contains(" 200 "), "\(old)")
        }
    }

    @Test(
        "a body that does not arrive in time gets 408, and the connection is closed",
        arguments: ["/v1/sources", "/_sandbox/clock/advance"]
    )
    func slowBody(path: String) async throws {
        try await SandboxProbe.run(Self.short) { probe in
            let answer = try await Self.talk(
                to: probe.base,
                "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer sk_test_1\r\n"
                    + "Content-Length: 100000\r\n\r\n",
                thenDripping: "a"
            )
            #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
        }
    }

    @Test("an unread body also closes its connection")
    func unreadBody() async throws {
        try await SandboxProbe.run(Self.short) { probe in
            let answer = try await Self.talk(
                to: probe.base,
                "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer sk_test_1\r\n"
                    + "Content-Length: 100000\r\n\r\n",
                thenDripping: "a"
            )
            #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
        }
    }

    /// Returns the server's output until it closes the connection; `dripping` is sent ten times a second.
    ///
    /// If the server does not close it, the test does not end; the caller's time limit reports that.
    private static func talk(
        to base: String,
        _ request: String,
        thenDripping dripping: String? = nil
    ) async throws -> String {
        let port = try #require(URL(string: base)?.port)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: request))
            return await withThrowingTaskGroup(of: Void.self) { group in
                if let dripping {
                    group.addTask {
                        while !Task.isCancelled {
                            try? await outbound.write(ByteBuffer(string: dripping))
                            try await Task.sleep(for: .milliseconds(100))
                        }
                    }
                }
                var response = ByteBuffer()
                do {
                    for try await part in inbound { response.writeImmutableBuffer(part) }
                } catch {
                    // A reset connection also counts as closed.
                }
                group.cancelAll()
                return String(buffer: response)
            }
        }
    }
}
