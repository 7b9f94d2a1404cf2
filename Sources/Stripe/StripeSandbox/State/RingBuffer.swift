/// The newest `capacity` elements, each with the number it was given on arrival.
struct RingBuffer<Element> {
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
