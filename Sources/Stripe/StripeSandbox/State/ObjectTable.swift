import NIOCore

/// Objects by ID in the order of their creation; used for everything the API can list.
struct ObjectTable<Object: Sendable>: Sendable {
    private var objects: [Object] = []
    private var numbers: [String: Int] = [:]

    /// The indices of all objects, oldest first; objects are never removed.
    var all: Range<Int> { 0..<objects.count }

    /// The object with an ID; setting a new ID appends the object, and `nil` is ignored.
    subscript(id: String) -> Object? {
        get { numbers[id].map { objects[$0] } }
        set {
            guard let newValue else { return }
            if let number = numbers[id] {
                objects[number] = newValue
            } else {
                numbers[id] = objects.count
                objects.append(newValue)
            }
        }
    }

    /// The object at an index.
    subscript(number: Int) -> Object {
        get { objects[number] }
        set { objects[number] = newValue }
    }

    /// Returns the index of an ID; `nil` for an unknown ID.
    func number(of id: String) -> Int? { numbers[id] }
}

extension ObjectTable: Codable where Object: Codable {}

/// An object whose JSON is cached until it changes.
protocol RenderedObject {
    /// The cached JSON; empty after a change.
    var rendered: RenderedJSON { get set }

    /// Renders the object for a secret key.
    func render() -> [UInt8]
}

extension RenderedObject {
    /// Returns the JSON for a secret key.
    mutating func json() -> ByteBuffer {
        if let rendered = rendered.buffer { return rendered }
        let buffer = ByteBuffer(bytes: render())
        rendered.buffer = buffer
        return buffer
    }

    /// Discards the cached JSON; must be called after every change.
    mutating func changed() {
        rendered.buffer = nil
    }
}

/// The cached JSON of an object; it is not saved in a state file.
struct RenderedJSON: Codable {
    var buffer: ByteBuffer?

    /// Creates an empty cache.
    init() {}

    init(from decoder: any Decoder) {}

    func encode(to encoder: any Encoder) throws {
        _ = encoder.container(keyedBy: NoKey.self)
    }

    /// No keys, because nothing is saved.
    private enum NoKey: CodingKey {}
}

/// A buffer of the newest `capacity` elements with increasing numbers.
struct RingBuffer<Element: Sendable>: Sendable {
    private var storage: [Element] = []
    private let capacity: Int

    /// The number of the next element; numbers start at 1.
    private(set) var next = 1

    /// The number of the oldest element.
    var first: Int { next - storage.count }

    init(capacity: Int) {
        precondition(capacity > 0, "capacity must be positive")
        self.capacity = capacity
    }

    /// Appends an element, overwriting the oldest one when full; returns its number.
    @discardableResult
    mutating func append(_ element: Element) -> Int {
        if storage.count < capacity {
            storage.append(element)
        } else {
            storage[(next - 1) % capacity] = element
        }
        next += 1
        return next - 1
    }

    /// The element with a number; `nil` when it does not exist or was overwritten.
    subscript(number: Int) -> Element? {
        get {
            guard number >= first, number < next else { return nil }
            return storage[(number - 1) % capacity]
        }
        set {
            guard let newValue, number >= first, number < next else { return }
            storage[(number - 1) % capacity] = newValue
        }
    }
}

extension RingBuffer: Codable where Element: Codable {}

/// Generates IDs and secrets in Stripe's format; a seed determines the sequence.
struct IDGenerator: Codable {
    private static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Moves to another position of the sequence.
    mutating func skip(_ salt: UInt64) {
        state ^= salt &* 0xD6E8_FEB8_6659_FD93
    }

    /// Returns the prefix followed by `length` letters and digits.
    mutating func make(_ prefix: String, length: Int = 24) -> String {
        var bytes = Array(prefix.utf8)
        bytes.reserveCapacity(bytes.count + length)
        var left = length
        while left > 0 {
            // 62^10 < 2^64: ten characters per draw are distributed evenly enough for IDs.
            var draw = nextWord()
            for _ in 0..<min(left, 10) {
                bytes.append(Self.alphabet[Int(truncatingIfNeeded: draw % 62)])
                draw /= 62
            }
            left -= min(left, 10)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    private mutating func nextWord() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
