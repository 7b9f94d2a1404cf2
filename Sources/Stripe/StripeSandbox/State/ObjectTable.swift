/// Objects by id, in the order of their creation, for everything the API can list.
struct ObjectTable<Object> {
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
