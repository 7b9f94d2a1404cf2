import Poller
import Testing

@Suite("ItemID")
struct ItemIDTests {
    @Test("is twelve characters of SHA-256, and stays what it was")
    func stable() {
        // SHA-256("acct_a\\0source\\0src_1"), the first 9 bytes: stored keys depend on it.
        #expect(Sample.key().id.description == "vhDUJdIsMklN")
    }

    @Test("the parts are told apart")
    func parts() {
        #expect(ItemID(of: "a", "bc") != ItemID(of: "ab", "c"))
        #expect(ItemID(of: "a") != ItemID(of: "a", ""))
    }

    @Test("ids of many items differ")
    func distinct() {
        let ids = Set((0..<20_000).map { Sample.key("src_\($0)").id })
        #expect(ids.count == 20_000)
        #expect(ids.allSatisfy { $0.description.utf8.count == 12 })
    }
}
