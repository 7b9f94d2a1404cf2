/// The bounds of one reply; see ``RedisConfiguration`` for the reasons.
struct RedisReplyLimits: Hashable {
    let bytesMax: Int
    let elementsMax: Int
    let depthMax: Int

    init(bytesMax: Int, elementsMax: Int, depthMax: Int) {
        self.bytesMax = bytesMax
        self.elementsMax = elementsMax
        self.depthMax = depthMax
    }

    init(_ configuration: RedisConfiguration) {
        self.init(
            bytesMax: configuration.replyBytesMax,
            elementsMax: configuration.replyElementsMax,
            depthMax: configuration.replyDepthMax
        )
    }
}
