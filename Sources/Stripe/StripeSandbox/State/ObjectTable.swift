import NIOCore

/// Objects by id, in the order of their creation, for everything the API can list.
struct ObjectTable<Object: Sendable>: Sendable {
    private var objects: [Object] = []
    private var numbers: [String: Int] = [:]

    /// The numbers in use, oldest first; nothing is ever taken out.
    var all: Range<Int> { 0..<objects.count }

    /// The object with that id; giving a new id an object appends it, nil is never stored.
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

    /// The object with that number.
    subscript(number: Int) -> Object {
        get { objects[number] }
        set { objects[number] = newValue }
    }

    /// The number of an id; nil when there is none.
    func number(of id: String) -> Int? { numbers[id] }
}

extension ObjectTable: Codable where Object: Codable {}

/// An object whose JSON is made once and kept until the object changes.
protocol RenderedObject {
    /// What ``json()`` has made; nothing after a change.
    var rendered: RenderedJSON { get set }

    /// The object as a secret key sees it.
    func render() -> [UInt8]
}

extension RenderedObject {
    /// The object as a secret key sees it.
    mutating func json() -> ByteBuffer {
        if let rendered = rendered.buffer { return rendered }
        let buffer = ByteBuffer(bytes: render())
        rendered.buffer = buffer
        return buffer
    }

    /// Must follow every change.
    mutating func changed() {
        rendered.buffer = nil
    }
}

/// JSON that was made of an object; a file that keeps the object has no need of it.
struct RenderedJSON: Codable {
    var buffer: ByteBuffer?

    /// Nothing is made yet.
    init() {}

    init(from decoder: any Decoder) {}

    func encode(to encoder: any Encoder) throws {
        _ = encoder.container(keyedBy: NoKey.self)
    }

    /// None: nothing of it is kept.
    private enum NoKey: CodingKey {}
}

/// The newest `capacity` elements, each with the number it was given on arrival.
struct RingBuffer<Element: Sendable>: Sendable {
    private var storage: [Element] = []
    private let capacity: Int

    /// The number the next element gets; numbers start at 1.
    private(set) var next = 1

    /// The number of the oldest element kept.
    var first: Int { next - storage.count }

    init(capacity: Int) {
        precondition(capacity > 0, "a ring keeps at least one element")
        self.capacity = capacity
    }

    /// Overwrites the oldest when it is full; the number of the element.
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

    /// The element with that number; nil when it was never there or has been overwritten.
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

/// Makes ids and secrets in Stripe's form; one seed gives one sequence.
struct IDGenerator: Codable {
    private static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Goes on elsewhere in the sequence.
    mutating func skip(_ salt: UInt64) {
        state ^= salt &* 0xD6E8_FEB8_6659_FD93
    }

    /// The prefix and `length` letters and digits.
    mutating func make(_ prefix: String, length: Int = 24) -> String {
        var bytes = Array(prefix.utf8)
        bytes.reserveCapacity(bytes.count + length)
        var left = length
        while left > 0 {
            // 62^10 < 2^64: ten characters of every draw are evenly spread, as far as ids care.
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
