import NIOCore
import NIOPosix
import PollerIdentity
import PollerNet
import PollerQueue
import PollerTesting
import Testing

@testable import PollerGateway

@Suite("Connection slots of the gateway")
struct ConnectionSlotsTests {
    @Test(
        "an address at its connection limit is rejected until one of its connections ends",
        .enabled(
            if: PythonPeer.has("websockets"),
            "needs the PyPI package websockets (see Tests/Peers/requirements.txt)"
        )
    )
    func perAddress() async throws {
        try await LiveBench.run(limits: GatewayLimits(addresses: .most(2))) { bench in
            let first = try await bench.client()
            try await first.message("hello")
            let second = try await bench.client()
            try await second.message("hello")
            #expect(try await Self.answer(bench.port) == "")
            try first.send("!close")
            _ = try await first.closeCode()
            try await eventually("a slot is free") {
                try await Self.answer(bench.port).hasPrefix("HTTP/1.1 404 ")
            }
            try second.send("!close")
        }
    }

    @Test("each key has its own connection slots, and a limit of zero means no limit")
    func perKey() {
        let slots = ConnectionSlots(GatewayLimits(connectionsPerKeyMax: 1))
        let slot = slots.takeSlot(for: Principal(name: "key 1", accounts: .all))
        #expect(slot != nil)
        #expect(slots.takeSlot(for: Principal(name: "key 1", accounts: .all)) == nil)
        #expect(slots.takeSlot(for: Principal(name: "key 2", accounts: .all)) != nil)
        let unlimited = ConnectionSlots(GatewayLimits(connectionsPerKeyMax: 0))
        let unlimitedSlots = (0..<3).map { _ in
            unlimited.takeSlot(for: Principal(name: "a", accounts: .all))
        }
        #expect(!unlimitedSlots.contains { $0 == nil }, "zero means no limit")
    }

    /// Returns everything that a connection receives until it ends, or an empty string if it is cut.
    private static func answer(_ port: Int) async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        do {
            return try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(
                    ByteBuffer(string: "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n")
                )
                var all = ByteBuffer()
                for try await buffer in inbound { all.writeImmutableBuffer(buffer) }
                return String(buffer: all)
            }
        } catch is IOError {
            return ""
        } catch is ChannelError {
            return ""
        }
    }
}
