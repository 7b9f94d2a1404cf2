import RedisClient
import SafeNumbers

// MessagePack, the format of `cmsgpack` in scripts: the records that claim.lua and commit.lua exchange with this program.
//
// Problem: positions and letters are not readable, and names in a reply of Redis are slow. The reply to a claim had about
// 23 values for each item, and the client allocated each of them twice.
//
// Approach: the values of a call are one argument, and its reply is one string. The reader decodes in place, and only
// the texts that the program keeps are allocated.
//
// Rejected: `cjson`, because secrets and packed events are bytes, and a number of more than 14 digits loses precision.

/// Writes values as MessagePack.
struct MessagePackWriter {
    private(set) var bytes: [UInt8] = []
    /// The position of the count of the open map, and the number of its values.
    private var map: (position: Int, count: UInt16) = (0, 0)

    init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// The written values, as an argument of a script.
    var argument: RedisArgument { .bytes(bytes) }

    /// Begins a list with this many values.
    mutating func beginList(_ count: Int) {
        if count < 16 {
            bytes.append(0x90 | UInt8(truncatingIfNeeded: count))
        } else {
            append(0xDC, UInt64(clamping: count), width: 2)
        }
    }

    /// Begins a map, which cannot contain another map.
    ///
    /// Its values follow by name until ``endMap()``.
    mutating func beginMap() {
        append(0xDE, 0, width: 2)
        map = (bytes.count - 2, 0)
    }

    mutating func endMap() {
        bytes[map.position] = UInt8(truncatingIfNeeded: map.count >> 8)
        bytes[map.position + 1] = UInt8(truncatingIfNeeded: map.count)
    }

    /// Begins a value of the open map.
    mutating func add(_ name: some RawRepresentable<String>) {
        append(name.rawValue)
        map.count += 1
    }

    mutating func add(_ name: some RawRepresentable<String>, _ text: String) {
        add(name)
        append(text)
    }

    mutating func add(_ name: some RawRepresentable<String>, _ number: some BinaryInteger) {
        add(name)
        append(number)
    }

    /// Adds a flag, which is not written if it is false.
    mutating func add(_ name: some RawRepresentable<String>, _ flag: Bool) {
        guard flag else { return }
        add(name)
        bytes.append(0xC3)
    }

    mutating func append(_ text: String) {
        beginText(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append(_ raw: [UInt8]) {
        beginText(raw.count)
        bytes.append(contentsOf: raw)
    }

    mutating func append(_ number: some BinaryInteger) {
        let value = Int64(clamping: number)
        let bits = UInt64(bitPattern: value)
        switch value {
        case 0..<128: bytes.append(UInt8(truncatingIfNeeded: bits))
        case 128..<256: append(0xCC, bits, width: 1)
        case 256..<65_536: append(0xCD, bits, width: 2)
        case 65_536..<4_294_967_296: append(0xCE, bits, width: 4)
        default: append(0xD3, bits, width: 8)
        }
    }

    /// Appends a number, or nothing.
    mutating func append(_ number: (some BinaryInteger)?) {
        if let number { append(number) } else { bytes.append(0xC0) }
    }

    /// Appends a text, or bytes in the form of a text: `cmsgpack` reads no other.
    private mutating func beginText(_ count: Int) {
        switch count {
        case ..<32: bytes.append(0xA0 | UInt8(truncatingIfNeeded: count))
        case ..<256: append(0xD9, UInt64(clamping: count), width: 1)
        case ..<65_536: append(0xDA, UInt64(clamping: count), width: 2)
        default: append(0xDB, UInt64(clamping: count), width: 4)
        }
    }

    private mutating func append(_ type: UInt8, _ value: UInt64, width: Int) {
        bytes.append(type)
        for index in (0..<width).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(clamping: 8 * index)))
        }
    }
}

/// A value of MessagePack; the values of a list, and the names and values of a map, follow it.
enum MessagePackValue {
    /// Also false: Lua has no list with a missing value.
    case nothing
    case `true`
    case int(Int64)
    case double(Double)
    case text(ArraySlice<UInt8>)
    case list(Int)
    case map(Int)

    var text: ArraySlice<UInt8>? {
        guard case .text(let bytes) = self else { return nil }
        return bytes
    }

    var string: String? { text.map { String(decoding: $0, as: UTF8.self) } }

    /// A whole number in the range of ``SafeInteger``; a fraction is cut off.
    var int: Int? {
        switch self {
        case .int(let number): Int(safe: number)
        case .double(let number):
            Int64(exactly: number.rounded(.towardZero)).flatMap { Int(safe: $0) }
        case .nothing, .true, .text, .list, .map: nil
        }
    }
}

/// Reads values that `cmsgpack` of a script has written.
///
/// Every method returns `nil` for bytes that end too early or are of another type.
struct MessagePackReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    mutating func next() -> MessagePackValue? {
        guard let type = rest.popFirst() else { return nil }
        switch type {
        case 0x00...0x7F: return .int(Int64(clamping: type))
        case 0x80...0x8F: return .map(Int(clamping: type & 0x0F))
        case 0x90...0x9F: return .list(Int(clamping: type & 0x0F))
        case 0xA0...0xBF: return text(Int(clamping: type & 0x1F))
        case 0xC0, 0xC2: return .nothing
        case 0xC3: return .true
        case 0xCA:
            return number(4)
                .map { .double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: $0)))) }
        case 0xCB: return number(8).map { .double(Double(bitPattern: $0)) }
        case 0xCC...0xCF: return number(1 << (type - 0xCC)).map { .int(Int64(clamping: $0)) }
        case 0xD0: return number(1).map { .int(Int64(clamping: Int8(truncatingIfNeeded: $0))) }
        case 0xD1: return number(2).map { .int(Int64(clamping: Int16(truncatingIfNeeded: $0))) }
        case 0xD2: return number(4).map { .int(Int64(clamping: Int32(truncatingIfNeeded: $0))) }
        case 0xD3: return number(8).map { .int(Int64(bitPattern: $0)) }
        case 0xD9: return count(1).flatMap { text($0) }
        case 0xDA: return count(2).flatMap { text($0) }
        case 0xDB: return count(4).flatMap { text($0) }
        case 0xDC: return count(2).map { .list($0) }
        case 0xDD: return count(4).map { .list($0) }
        case 0xDE: return count(2).map { .map($0) }
        case 0xDF: return count(4).map { .map($0) }
        case 0xE0...0xFF: return .int(Int64(clamping: Int8(bitPattern: type)))
        default: return nil
        }
    }

    /// Reads the head of a list and returns the number of its values.
    mutating func list() -> Int? {
        switch next() {
        case .list(let count): count
        // Lua's empty table.
        case .map(0): 0
        default: nil
        }
    }

    /// Reads the head of a map and returns the number of its values.
    mutating func map() -> Int? {
        switch next() {
        case .map(let count): count
        case .list(0): 0
        default: nil
        }
    }

    private mutating func text(_ count: Int) -> MessagePackValue? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return .text(rest.prefix(count))
    }

    private mutating func count(_ width: Int) -> Int? {
        number(width).map { Int(clamping: $0) }
    }

    private mutating func number(_ width: Int) -> UInt64? {
        guard width <= rest.count else { return nil }
        defer { rest = rest.dropFirst(width) }
        return rest.prefix(width).reduce(0) { $0 << 8 | UInt64(clamping: $1) }
    }
}
