import NIOCore
import Testing

@testable import PollerNet

@Suite("Our own listeners")
struct OwnListenersTests {
    private let own: OwnListeners

    init() {
        // The interfaces of a machine that is none of ours.
        let interfaces = ["127.0.0.1", "10.1.2.3", "fd00::3", "::1"]
        own = OwnListeners { interfaces.compactMap { IPAddress($0) } }
    }

    private func contains(_ text: String, _ port: Int = 9090) throws -> Bool {
        own.contains(try #require(IPAddress(text)), port: port)
    }

    @Test("one bound to an address is there, and where the kernel leads there")
    func bound() throws {
        own.add(host: "127.0.0.1", port: 9090)
        #expect(try contains("127.0.0.1") && contains("0.0.0.0") && contains("::"))
        #expect(try !contains("127.0.0.2") && !contains("10.1.2.3") && !contains("::1"))
        #expect(try !contains("127.0.0.1", 9091))
    }

    @Test(
        "one bound to every address is at each of this machine's, and no other",
        arguments: ["0.0.0.0", "::", "localhost"]
    )
    func everywhere(host: String) throws {
        own.add(host: host, port: 9090)
        for local in ["127.0.0.1", "127.9.9.9", "::1", "10.1.2.3", "::ffff:10.1.2.3", "fd00::3"] {
            #expect(try contains(local), "\(local)")
        }
        #expect(try !contains("10.1.2.4") && !contains("fd00::4"))
    }

    @Test("a store elsewhere is where it was reached; one on this machine may be at all of it")
    func store() throws {
        own.add(store: try SocketAddress(ipAddress: "10.9.9.9", port: 6379))
        #expect(try contains("10.9.9.9", 6379))
        #expect(try !contains("10.1.2.3", 6379))
        own.add(store: try SocketAddress(ipAddress: "10.1.2.3", port: 6380))
        #expect(try contains("127.0.0.1", 6380) && contains("fd00::3", 6380))
        #expect(try !contains("10.9.9.9", 6380))
        own.add(store: try SocketAddress(unixDomainSocketPath: "/run/redis.sock"))
    }

    @Test("this machine's interfaces are asked")
    func interfaces() throws {
        let loopback = try #require(IPAddress("127.0.0.1"))
        #expect(OwnListeners.interfaces().contains(loopback))
    }
}
