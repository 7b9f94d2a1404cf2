import Foundation

/// Finds free ports on 127.0.0.1.
enum LoopbackPort {
    /// The offset of the port for a node's Cluster bus.
    private static let busOffset = 10_000
    /// The most ports tried: most are free, but above 55,535 there is none for the bus.
    private static let attemptsMax = 100

    /// Returns a free port, whose bus port is also free if requested.
    static func find(withClusterBus: Bool) throws -> Int {
        for _ in 0..<attemptsMax {
            let port = try bind(0)
            if !withClusterBus { return port }
            if port + busOffset <= 65_535, (try? bind(port + busOffset)) != nil { return port }
        }
        throw RedisServerProcess.Failure(description: "no free port with a free bus port")
    }

    /// Binds a port, any for 0, and releases it at once.
    private static func bind(_ port: Int) throws -> Int {
        let descriptor = socket(AF_INET, streamType, 0)
        guard descriptor >= 0 else {
            throw RedisServerProcess.Failure(description: "no socket: errno \(errno)")
        }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = in_port_t(port).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe Foundation.bind(descriptor, pointer, length) == 0
                    && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard isBound else {
            throw RedisServerProcess.Failure(description: "port \(port) is taken: errno \(errno)")
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static var streamType: Int32 {
        #if canImport(Glibc)
        Int32(SOCK_STREAM.rawValue)
        #else
        SOCK_STREAM
        #endif
    }
}
