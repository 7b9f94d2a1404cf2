import Crypto

/// A Lua script, addressed by its digest so that two releases can run side by side.
///
/// It may be a function of a ``RedisLibrary`` too, which Redis keeps compiled between calls.
package struct RedisScript: Sendable, Hashable {
    /// The script's text.
    package let source: String
    /// SHA-1 of the text in lower-case hex, as `EVALSHA` and `SCRIPT LOAD` use it.
    ///
    /// It is Redis' name for the script, not a safeguard.
    package let sha1: String
    /// The function that does the same; `nil` for what `EVALSHA` alone runs.
    package let function: RedisFunction?

    /// Makes a script and computes its digest once.
    package init(source: String, function: RedisFunction? = nil) {
        self.source = source
        self.sha1 = hex(Insecure.SHA1.hash(data: Array(source.utf8)))
        self.function = function
    }

    /// The command that runs it by its digest.
    func evaluation(_ keys: [String], _ arguments: [RedisArgument]) -> RedisCommand {
        RedisCommand("EVALSHA", numbered(.string(sha1), keys, arguments))
    }

    /// `evaluation` after the script has been loaded on the same node.
    func loading(_ evaluation: RedisCommand) -> RedisBatch {
        RedisBatch(
            [RedisCommand("SCRIPT", ["LOAD", .string(source)]), evaluation],
            routedIndex: 1
        )
    }
}

/// One function of a library.
package struct RedisFunction: Sendable, Hashable {
    /// `<library>_<what it was called in it>`: names of functions are one server's, not a library's.
    package let name: String
    /// Where it is.
    package let library: RedisLibrary

    /// The function that `library` registers as `LIBRARY .. '_name'`.
    package init(_ name: String, of library: RedisLibrary) {
        self.name = "\(library.name)_\(name)"
        self.library = library
    }

    /// The command that runs it.
    func call(_ keys: [String], _ arguments: [RedisArgument]) -> RedisCommand {
        RedisCommand("FCALL", numbered(.string(name), keys, arguments))
    }

    /// `call` after the library has been loaded on the same node; refused where somebody else has
    /// just done that.
    func loading(_ call: RedisCommand) -> RedisBatch {
        RedisBatch([library.loading, call], routedIndex: 1)
    }
}

/// A library of functions (Redis 7), named by a digest so that two releases can run side by side.
///
/// A library of a fixed name would be replaced by each release in turn, for all processes at once.
package struct RedisLibrary: Sendable, Hashable {
    /// `<prefix>_<first 16 hex digits of the SHA-256 of its text>`.
    package let name: String
    /// What `FUNCTION LOAD` takes.
    package let source: String

    /// Makes a library and computes its digest once; in `body` its name is the local `LIBRARY`.
    package init(prefix: String, body: String) {
        name = "\(prefix)_\(hex(SHA256.hash(data: Array(body.utf8))).prefix(16))"
        source = "#!lua name=\(name)\nlocal LIBRARY = '\(name)'\n\(body)"
    }

    /// The command that makes it known to a server; an error where it is known.
    package var loading: RedisCommand { RedisCommand("FUNCTION", ["LOAD", .string(source)]) }
}

// Descriptions name a text and never hold it: logs describe whatever holds a script.

extension RedisScript: CustomStringConvertible, CustomDebugStringConvertible {
    /// Its digest.
    package var description: String { sha1 }
    /// The same as ``description``.
    package var debugDescription: String { description }
}

extension RedisFunction: CustomStringConvertible, CustomDebugStringConvertible {
    /// Its name.
    package var description: String { name }
    /// The same as ``description``.
    package var debugDescription: String { description }
}

extension RedisLibrary: CustomStringConvertible, CustomDebugStringConvertible {
    /// Its name.
    package var description: String { name }
    /// The same as ``description``.
    package var debugDescription: String { description }
}

/// What follows the name of a command that is told how many of its arguments are keys.
private func numbered(
    _ name: RedisArgument,
    _ keys: [String],
    _ arguments: [RedisArgument]
) -> [RedisArgument] {
    [name, RedisArgument(keys.count)] + keys.map { .string($0) } + arguments
}

/// A digest in lower-case hex.
private func hex(_ digest: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var hex: [UInt8] = []
    hex.reserveCapacity(64)
    for byte in digest {
        hex.append(digits[Int(clamping: byte >> 4)])
        hex.append(digits[Int(clamping: byte & 15)])
    }
    return String(decoding: hex, as: UTF8.self)
}
