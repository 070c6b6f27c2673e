#include <vector>
using std::vector;

namespace math {
namespace detail::deep {
int helper(int x) { return x; }
}

/// A matrix.
template <typename T, int N = 3>
class Matrix final : public Base<T>, private Other {
public:
    Matrix() = default;
    explicit Matrix(int size) : size_(size) { fill(size); }
    virtual ~Matrix();
    /// Adds.
    Matrix &operator+=(const Matrix &other);
    T at(int row) const noexcept override { return data_.at(row); }
    template <typename U> U as() const;
    struct Row { T *begin; };
    static constexpr int LIMIT = 4;

private:
    vector<T> data_;
    int size_;
};

enum class Mode : int { Fast, Exact };
using Grid = Matrix<double, 2>;
template <typename T> concept Small = sizeof(T) < 8;
constexpr double PI = 3.14;

template <typename T, int N>
Matrix<T, N> &Matrix<T, N>::operator+=(const Matrix &other) {
    auto add = [&](int x) { return x; };
    std::transform<int>(other.begin(), add);
    return *this;
}

template <typename T, int N>
Matrix<T, N>::~Matrix() { detail::deep::helper(1); }
}  // namespace math

extern "C" int entry(const char *name);
int main(int argc, char **argv) {
    math::Grid *grid = new math::Grid(3);
    return grid->at(0);
}
