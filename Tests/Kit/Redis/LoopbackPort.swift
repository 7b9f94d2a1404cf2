import Foundation
import Synchronization

/// Finds free ports on 127.0.0.1.
///
/// They are below the range of ephemeral ports, so that no client's socket takes the port of a server that restarts.
enum LoopbackPort {
    /// The ports of servers, before those of the end-to-end tests.
    private static let range = 12_000..<16_000
    /// The offset of the port for a node's Cluster bus.
    private static let busOffset = 10_000
    /// The most ports tried: nearly all are free.
    private static let attemptsMax = 100
    /// The ports found so far, of which none is found again: the port of a killed server stays closed.
    private static let found = Mutex<Set<Int>>([])

    /// Returns a free port, whose bus port is also free if requested.
    static func find(withClusterBus: Bool) throws -> Int {
        for _ in 0..<attemptsMax {
            let port = Int.random(in: range)
            guard isFree(port) else { continue }
            guard !withClusterBus || isFree(port + busOffset) else { continue }
            if found.withLock({ $0.insert(port).inserted }) { return port }
        }
        throw RedisServerProcess.Failure(description: "no free port in \(attemptsMax) tries")
    }

    /// Binds a port and releases it at once.
    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, streamType, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = in_port_t(port).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe Foundation.bind(descriptor, pointer, length) == 0
            }
        }
    }

    private static var streamType: Int32 {
        #if canImport(Glibc)
        Int32(SOCK_STREAM.rawValue)
        #else
        SOCK_STREAM
        #endif
    }
}
