#pragma once

// A widget.
class Widget {
public:
    // Draws.
    void draw(int depth) const;
    int width() { return width_; }
private:
    int width_;
};
