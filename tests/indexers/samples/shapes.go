// Copyright 2020 The Shapes Authors.

// Package shapes measures plane figures.
package shapes

import (
	"fmt"
	m "math"
)

import "errors"

// Pi is good enough.
const Pi = 3.14

const (
	// Small is the first size.
	Small Size = iota
	Large // after
)

var ErrEmpty, ErrOpen = errors.New("empty"), errors.New("open")

var area = func(s Shape) float64 {
	return s.Area()
}

// Size of a shape.
type Size int

type (
	// Shape has an area.
	Shape interface {
		fmt.Stringer
		// Area in square units.
		Area() float64
	}
	Pair[T any] struct {
		First, Second T
	}
	Alias = map[string]Shape
)

// Circle is round.
//
// It has no corners.
//
//go:generate stringer
type Circle struct {
	Radius float64 `json:"radius"`
}

// Area implements Shape.
func (c *Circle) Area() float64 {
	type local struct{ x int }
	square := func(x float64) float64 { return m.Pow(x, 2) }
	return Pi * square(c.Radius)
}

func (p Pair[T]) Swap() (second, first T) { return p.Second, p.First }

func Map[T, U any](
	items []T, // what to map
	f func(T) U,
) []U {
	out := make([]U, 0, len(items))
	for _, item := range items {
		out = append(out, f(item))
	}
	return out
}

func init() { fmt.Println(strings.NewReader("x").Len()) }
