import Foundation
import NIOCore

/// The supervisor that waits for this process's state: systemd, if a unit has `Type=notify`.
///
/// A start of the unit then ends when the process can work, not when it exists. So a rolling restart always leaves a
/// working process. Without a supervisor nothing is sent.
///
/// *Source*: sd_notify(3). A datagram of `NAME=VALUE` lines to the socket in `NOTIFY_SOCKET`. Addresses that begin with
/// `@`, used by early versions of systemd, are not supported.
struct Supervisor: Sendable {
    /// The states that are sent.
    enum State: String {
        /// Everything has started.
        case ready = "READY=1"
        /// The process drains and then ends.
        case stopping = "STOPPING=1"
    }

    private let socketPath: String?

    /// Creates the supervisor that this environment names.
    init(environment: [String: String]) {
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Sends the state once, without waiting.
    ///
    /// A lost state is not sent again, because a supervisor that restarts the process for it would do so anyway.
    func notify(_ state: State) {
        // A path that is too long for a socket is ignored.
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
