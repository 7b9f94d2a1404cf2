import Crypto

/// A Lua script, addressed by its digest so that two releases can run side by side.
package struct RedisScript: Sendable, Hashable {
    /// The script's text.
    package let source: String
    /// SHA-1 of the text in lower-case hex, as `EVALSHA` and `SCRIPT LOAD` use it.
    ///
    /// It is Redis' name for the script, not a safeguard.
    package let sha1: String

    /// Makes a script and computes its digest once.
    package init(source: String) {
        self.source = source
        let digits = Array("0123456789abcdef".utf8)
        var hex: [UInt8] = []
        hex.reserveCapacity(40)
        for byte in Insecure.SHA1.hash(data: Array(source.utf8)) {
            hex.append(digits[Int(byte >> 4)])
            hex.append(digits[Int(byte & 15)])
        }
        self.sha1 = String(decoding: hex, as: UTF8.self)
    }

    /// The command that runs it by its digest.
    func evaluation(_ keys: [String], _ arguments: [RedisArgument]) -> RedisCommand {
        RedisCommand(
            "EVALSHA",
            [.string(sha1), RedisArgument(keys.count)] + keys.map { .string($0) } + arguments
        )
    }

    /// `evaluation` after the script has been loaded on the same node.
    func loading(_ evaluation: RedisCommand) -> RedisUnit {
        RedisUnit([RedisCommand("SCRIPT", ["LOAD", .string(source)]), evaluation], deciding: 1)
    }
}
