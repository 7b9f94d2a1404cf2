import PollerNet
import Testing

@Suite("PerAddressLimit")
struct PerAddressLimitTests {
    private let slots = SlotCounter()

    private func take(
        _ bound: PerAddressLimit,
        _ text: String,
        of total: Int
    ) throws
        -> SlotCounter.Slot?
    {
        let address: IPAddress = try #require(IPAddress(text))
        return bound.slot(in: slots, of: total, for: address)
    }

    @Test("an address may hold half of all slots, until one is released")
    func half() throws {
        var held = try (0..<2).map { _ in try take(.half, "192.0.2.1", of: 4) }
        #expect(!held.contains { $0 == nil })
        #expect(try take(.half, "192.0.2.1", of: 4) == nil)
        #expect(try take(.half, "::ffff:192.0.2.1", of: 4) == nil)
        #expect(try take(.half, "192.0.2.2", of: 4) != nil)
        held.removeLast()
        #expect(try take(.half, "192.0.2.1", of: 4) != nil)
    }

    @Test("the addresses of one IPv6 network count as one")
    func networks() throws {
        let held = try take(.most(1), "2001:db8:1:2::1", of: 4)
        #expect(held != nil)
        #expect(try take(.most(1), "2001:db8:1:2:ffff::9", of: 4) == nil)
        #expect(try take(.most(1), "2001:db8:1:3::1", of: 4) != nil)
    }

    @Test("this machine is not counted unless a number is set", arguments: ["127.0.0.1", "::1"])
    func loopback(address: String) throws {
        let free = try (0..<9).map { _ in try take(.half, address, of: 4) }
        #expect(!free.contains { $0 == nil })
        let held = try take(.most(1), address, of: 4)
        #expect(held != nil)
        #expect(try take(.most(1), address, of: 4) == nil)
    }
}
