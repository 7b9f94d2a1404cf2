@testable import RedisClient

/// Writes replies as a server does, independently of the code under test.
enum RESP {
    static func bytes(_ value: RedisValue) -> [UInt8] {
        switch value {
        case .simpleString(let text): Array("+\(text)\r\n".utf8)
        case .error(let error): Array("-\(error)\r\n".utf8)
        case .integer(let number): Array(":\(number)\r\n".utf8)
        case .bulk(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n".utf8)
        case .array(let elements):
            Array("*\(elements.count)\r\n".utf8) + elements.flatMap { bytes($0) }
        case .null: Array("$-1\r\n".utf8)
        }
    }

    /// Any valid reply whose arrays nest at most `depth` deep.
    static func random(depth: Int, using random: inout SeededGenerator) -> RedisValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: return .simpleString(text(using: &random))
        case 1:
            return .error(RedisReplyError(code: "ERR", message: text(using: &random)))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &random))
        case 3: return .integer(Int64.random(in: -9...9, using: &random))
        case 4: return .null
        case 5:
            let count = Int.random(in: 0...40, using: &random)
            return .bulk((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        default:
            let count = Int.random(in: 0...4, using: &random)
            return .array((0..<count).map { _ in self.random(depth: depth - 1, using: &random) })
        }
    }

    private static func text(using random: inout SeededGenerator) -> String {
        let letters = Array("abc XYZ09:$*+-é")
        let count = Int.random(in: 1...12, using: &random)
        return String((0..<count).map { _ in letters.randomElement(using: &random) ?? "a" })
    }
}
