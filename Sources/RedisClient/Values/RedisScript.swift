import Crypto
import Synchronization

/// A Lua script, addressed by its digest so that two releases can run side by side.
///
/// It may also be a function of a ``RedisLibrary``, which Redis keeps compiled between calls.
package struct RedisScript: Sendable {
    /// The equivalent function; `nil` for a script that runs by `EVALSHA` only.
    package let function: RedisFunction?
    private let text: ScriptText

    /// Makes a script.
    ///
    /// `source` is called when the text is first needed. With a function that is only if Redis supports no functions,
    /// and the texts of all our scripts take 3 MB.
    package init(
        source: @autoclosure @escaping @Sendable () -> String,
        function: RedisFunction? = nil
    ) {
        self.function = function
        text = ScriptText(source)
    }

    /// The script's text.
    package var source: String { text.made.source }
    /// SHA-1 of the text in lower-case hex, as `EVALSHA` and `SCRIPT LOAD` use it.
    ///
    /// Redis uses it as the script's name, not as a safeguard.
    package var sha1: String { text.made.sha1 }

    /// The command that runs the script by its digest.
    func evaluation(_ keys: [String], _ arguments: [RedisArgument]) -> RedisCommand {
        RedisCommand("EVALSHA", numbered(.string(sha1), keys, arguments))
    }

    /// Returns `evaluation` preceded by loading the script on the same node.
    func loading(_ evaluation: RedisCommand) -> RedisBatch {
        RedisBatch(
            [RedisCommand("SCRIPT", ["LOAD", .string(source)]), evaluation],
            routedIndex: 1
        )
    }
}

/// The text of a script and its digest, made once.
private final class ScriptText: Sendable {
    private let make: @Sendable () -> String
    private let known = Mutex<(source: String, sha1: String)?>(nil)

    init(_ make: @escaping @Sendable () -> String) {
        self.make = make
    }

    var made: (source: String, sha1: String) {
        known.withLock { known in
            if let known { return known }
            let source = make()
            let made = (source, hex(Insecure.SHA1.hash(data: Array(source.utf8))))
            known = made
            return made
        }
    }
}

/// One function of a library.
package struct RedisFunction: Sendable, Hashable {
    /// `<library>_<name in the library>`: function names are unique per server, not per library.
    package let name: String
    /// The library that contains it.
    package let library: RedisLibrary

    /// The function that `library` registers as `LIBRARY .. '_name'`.
    package init(_ name: String, of library: RedisLibrary) {
        self.name = "\(library.name)_\(name)"
        self.library = library
    }

    /// The command that runs the function.
    func call(_ keys: [String], _ arguments: [RedisArgument]) -> RedisCommand {
        RedisCommand("FCALL", numbered(.string(name), keys, arguments))
    }

    /// Returns `call` preceded by loading the library on the same node.
    ///
    /// Loading fails if another client has just done so.
    func loading(_ call: RedisCommand) -> RedisBatch {
        RedisBatch([library.loading, call], routedIndex: 1)
    }
}

/// A library of functions (Redis 7), named by a digest so that two releases can run side by side.
///
/// With a fixed name, each release would replace the library of the other, for all processes at
/// once.
package struct RedisLibrary: Sendable, Hashable {
    /// `<prefix>_<first 16 hex digits of the SHA-256 of its text>`.
    package let name: String
    /// The text passed to `FUNCTION LOAD`.
    package let source: String

    /// Makes a library and computes its digest once; in `body` its name is the local `LIBRARY`.
    package init(prefix: String, body: String) {
        name = "\(prefix)_\(hex(SHA256.hash(data: Array(body.utf8))).prefix(16))"
        source = "#!lua name=\(name)\nlocal LIBRARY = '\(name)'\n\(body)"
    }

    /// The command that loads the library; it fails if the library is already loaded.
    package var loading: RedisCommand { RedisCommand("FUNCTION", ["LOAD", .string(source)]) }
}

// Descriptions contain names only and never a script's text, because they may be logged.

extension RedisScript: CustomStringConvertible, CustomDebugStringConvertible {
    /// The digest.
    package var description: String { sha1 }
    /// The same as ``description``.
    package var debugDescription: String { description }
}

extension RedisFunction: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { name }
    /// The same as ``description``.
    package var debugDescription: String { description }
}

extension RedisLibrary: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { name }
    /// The same as ``description``.
    package var debugDescription: String { description }
}

/// The arguments of a command that takes the number of its keys.
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
