import NIOCore
import PollerNet

/// Resolves names from a table; addresses resolve to themselves.
struct FixedResolver: AddressResolver {
    private let table: [String: [String]]

    init(_ table: [String: [String]]) {
        self.table = table
    }

    func addresses(host: String, port: Int) async throws(ResolutionFailure) -> [SocketAddress] {
        let found = (table[host] ?? [host])
            .compactMap { try? SocketAddress(ipAddress: $0, port: port) }
        guard !found.isEmpty else { throw ResolutionFailure(reason: "not in the table") }
        return found
    }
}
