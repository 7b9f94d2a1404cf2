import Foundation
import NIOCore

/// Who started this process and waits to hear how it is: systemd, where a unit says `Type=notify`.
///
/// A start of the unit then ends when the process can do its work, not when it exists, so that a restart of one machine
/// after the other never leaves none. Where nobody waits, nothing is sent.
///
/// *Source*: sd_notify(3). A datagram of `NAME=VALUE` lines to the socket in `NOTIFY_SOCKET`. Addresses that begin with `@`,
/// those of systemd's early versions, are left out.
struct Supervisor: Sendable {
    /// What it is told.
    enum State: String {
        /// Everything this process is for has started.
        case ready = "READY=1"
        /// It drains, and ends by itself.
        case stopping = "STOPPING=1"
    }

    private let socketPath: String?

    /// The one that this environment names.
    init(environment: [String: String]) {
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Sends the state, once and without waiting: who restarts us for its loss would do so anyway.
    func tell(_ state: State) {
        // A path that is too long for a socket is nobody's.
        guard let socketPath, let address = try? SocketAddress(unixDomainSocketPath: socketPath)
        else { return }
        #if canImport(Darwin)
        let descriptor = socket(AF_UNIX, SOCK_DGRAM, 0)
        #else
        let descriptor = socket(AF_UNIX, Int32(clamping: SOCK_DGRAM.rawValue), 0)
        #endif
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let line = Array("\(state.rawValue)\n".utf8)
        unsafe address.withSockAddr { receiver, length in
            let flags = Int32(clamping: MSG_DONTWAIT)
            _ = unsafe sendto(descriptor, line, line.count, flags, receiver, socklen_t(length))
        }
    }
}
