import NIOCore
import Testing

@testable import PollerHTTP

@Suite("Order of address attempts")
struct AddressHistoryTests {
    private let old = ["192.0.2.1", "192.0.2.2"]
    private let new = ["2001:db8::1", "2001:db8::2"]

    private func addresses(_ texts: [String]) throws -> [SocketAddress] {
        try texts.map { try SocketAddress(ipAddress: $0, port: 443) }
    }

    private func order(
        _ history: AddressHistory,
        _ texts: [String],
        isRetry: Bool = false
    ) throws -> [String] {
        history.order(try addresses(texts), isRetry: isRetry).compactMap(\.ipAddress)
    }

    @Test("families alternate, beginning with that of the first address")
    func families() throws {
        let history = AddressHistory()
        #expect(try order(history, new + old) == [new[0], old[0], new[1], old[1]])
        #expect(try order(history, old + new) == [old[0], new[0], old[1], new[1]])
        #expect(try order(history, new + [old[0]]) == [new[0], old[0], new[1]])
        #expect(try order(history, [old[0]]) == [old[0]])
        #expect(
            try order(history, new + old, isRetry: true) == new + old,
            "a retry keeps its order"
        )
    }

    @Test("the address that responded last comes first, and failed ones come last")
    func remembered() throws {
        var history = AddressHistory()
        let all = try addresses(new + old)
        history.failed(all[0])
        #expect(try order(history, new + old) == [old[0], new[1], old[1], new[0]])
        history.succeeded(all[3])
        #expect(try order(history, new + old) == [old[1], old[0], new[1], new[0]])
        #expect(try order(history, new + old, isRetry: true) == [new[1], old[0], old[1], new[0]])
        history.succeeded(all[0])
        history.failed(all[3])
        #expect(try order(history, new + old) == [new[0], old[0], new[1], old[1]])
    }

    @Test("an address that the host no longer has is removed")
    func forgotten() throws {
        var history = AddressHistory()
        let all = try addresses(new + old)
        history.failed(all[0])
        history.succeeded(all[1])
        history.keep(only: Array(all.dropFirst()))
        #expect(!history.isEmpty)
        history.keep(only: [all[3]])
        #expect(history.isEmpty)
    }
}
