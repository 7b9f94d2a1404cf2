import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An address that cannot be listened on, with the option that names it and what to do.
package struct ListenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The option without dashes: `api-bind`.
    package let option: String
    package let address: ListenAddress
    /// What is wrong and what to do, for the person who starts the program.
    package let description: String

    /// Reads what a server threw; nil when that is about something else than its address.
    init?(_ error: any Error, at address: ListenAddress, option: String) {
        let variable = "POLLER_" + option.uppercased().replacing("-", with: "_")
        let name = "--\(option) (\(variable))"
        let reason: String
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            reason =
                "port \(address.port) is in use. Stop the program that has it (ss -ltnp shows it), "
                + "or set \(name) to another HOST:PORT; port 0 takes a free one"
        case let error as IOError where error.errnoCode == EACCES:
            reason =
                "port \(address.port) is not for this user. Set \(name) to a port of 1024 or above"
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL:
            reason =
                "\(address.host) is no address of this machine. Set \(name) to one that is; "
                + "0.0.0.0 is all of them"
        case is SocketAddressError, is SocketAddressError.UnknownHost:
            reason = "the name \(address.host) is unknown. Set \(name) to HOST:PORT"
        default: return nil
        }
        self.option = option
        self.address = address
        description = "cannot listen on \(address): \(reason)."
    }
}
