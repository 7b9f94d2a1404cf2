import PollerNet
import Testing

@Suite("What one address may hold")
struct PerAddressLimitTests {
    private let places = SlotCounter()

    private func take(
        _ bound: PerAddressLimit,
        _ text: String,
        of total: Int
    ) throws
        -> SlotCounter.Slot?
    {
        let address: IPAddress = try #require(IPAddress(text))
        return bound.slot(in: places, of: total, for: address)
    }

    @Test("half of all, until one is given back")
    func half() throws {
        var held = try (0..<2).map { _ in try take(.half, "192.0.2.1", of: 4) }
        #expect(!held.contains { $0 == nil })
        #expect(try take(.half, "192.0.2.1", of: 4) == nil)
        #expect(try take(.half, "::ffff:192.0.2.1", of: 4) == nil)
        #expect(try take(.half, "192.0.2.2", of: 4) != nil)
        held.removeLast()
        #expect(try take(.half, "192.0.2.1", of: 4) != nil)
    }

    @Test("the addresses of one IPv6 network are one")
    func networks() throws {
        let held = try take(.most(1), "2001:db8:1:2::1", of: 4)
        #expect(held != nil)
        #expect(try take(.most(1), "2001:db8:1:2:ffff::9", of: 4) == nil)
        #expect(try take(.most(1), "2001:db8:1:3::1", of: 4) != nil)
    }

    @Test("this machine is not counted, unless a number is named", arguments: ["127.0.0.1", "::1"])
    func loopback(address: String) throws {
        let free = try (0..<9).map { _ in try take(.half, address, of: 4) }
        #expect(!free.contains { $0 == nil })
        let held = try take(.most(1), address, of: 4)
        #expect(held != nil)
        #expect(try take(.most(1), address, of: 4) == nil)
    }
}
