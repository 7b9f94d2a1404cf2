import NIOCore

/// An object whose JSON is made once and kept until the object changes.
protocol RenderedObject {
    /// What ``json()`` has made; nil after a change.
    var rendered: ByteBuffer? { get set }

    /// The object as a secret key sees it.
    func render() -> [UInt8]
}

extension RenderedObject {
    /// The object as a secret key sees it.
    mutating func json() -> ByteBuffer {
        if let rendered { return rendered }
        let buffer = ByteBuffer(bytes: render())
        rendered = buffer
        return buffer
    }

    /// Must follow every change.
    mutating func changed() {
        rendered = nil
    }
}
