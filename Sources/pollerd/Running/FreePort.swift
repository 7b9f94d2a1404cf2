import Foundation

/// Finds a loopback port that nobody listens on right now.
enum FreePort {
    /// Binds port 0, reads which one the kernel gave, and lets it go again.
    static func find() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else {
            throw ConfigurationError("no socket can be opened: raise the limit of open files")
        }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(descriptor, generic, length) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else {
            throw ConfigurationError(
                "no port of 127.0.0.1 can be bound: is the loopback interface up?"
            )
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
